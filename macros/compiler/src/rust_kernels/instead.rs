//! What to write in place of what kernels do not have: the help of most errors.

use syn::{GenericArgument, Path, PathArguments, Type};

use super::types::Number;
use super::written::part_unknown;
use crate::text::text;

/// Why a thread of a kernel has no `Vec`.
pub(super) const NO_HEAP: &str = "a kernel's thread cannot allocate memory";

/// In place of a method. `of` is its receiver, if that is a number.
pub(super) fn of_method(name: &str, of: Option<Number>) -> Option<String> {
    let help = match name {
        "unwrap_or" | "unwrap_or_default" | "unwrap_or_else" | "copied" | "cloned" => {
            "write `x.get(i).copied().unwrap_or(0.0)` as a whole, or `if let Some(x) = … { … } else { … }`"
        }
        "unwrap" | "expect" | "is_none" | "ok_or" | "is_some_and" | "is_none_or" | "map_or"
        | "map_or_else" | "and_then" => {
            "write `let Some(x) = … else { return };`, or `if let Some(x) = … { … } else { … }`"
        }
        "sum" | "product" | "fold" | "map" | "filter" | "zip" | "take" | "skip" | "any" | "all" | "count"
        | "max_by" | "min_by" | "reduce" | "collect" | "into_iter" | "chain" | "position" | "find"
        | "for_each" | "enumerate" | "rev" | "step_by" | "take_while" | "contains" => {
            "write a loop, such as `for x in xs { … }` or `for (i, x) in xs.iter().enumerate() { … }`"
        }
        "windows" | "chunks" | "chunks_exact" | "split_at" => "take the parts in a loop: `&x[from..to]`",
        "iter_mut" | "reverse" | "fill" | "copy_from_slice" | "clone_from_slice" | "rotate" => {
            "write a loop over the indices: `for i in 0..x.len() { … }`"
        }
        "swap" => "write `(x[i], x[j]) = (x[j], x[i]);`",
        "binary_search" | "binary_search_by" | "partition_point" => {
            "write a loop that halves a range: `while from < to { let middle = from + (to - from) / 2; … }`"
        }
        _ if name.starts_with("sort") || name.starts_with("select_nth") => {
            "write two loops that exchange neighbours: `if x[j] < x[j - 1] { (x[j - 1], x[j]) = (x[j], x[j - 1]); }`"
        }
        "push" | "pop" | "insert" | "extend" | "resize" | "clear" | "remove" => {
            "use an array of a fixed length, `let mut x = [0.0; 16];`, and count in a variable"
        }
        "get_mut" => "take the data as `&mut Own<[T]>`, of which a thread may write its own element",
        "first" => "write `x.get(0)`, or `x[0]`",
        "last" => "write `x[x.len() - 1]`",
        "as_slice" => "write `&x[..]`",
        "into" => "write the type: `f64::from(x)`, or `x as f64`",
        "try_into" => "test whether the number fits, and write `x as u32`",
        "cmp" | "partial_cmp" | "total_cmp" | "eq" | "ne" | "lt" | "le" | "gt" | "ge" => {
            "compare by an operator, such as `a < b`"
        }
        "add" | "sub" | "mul" | "div" | "rem" | "neg" | "not" => "write the operator",
        "checked_add" | "overflowing_add" => "write `wrapping_add` or `saturating_add`, and compare",
        "checked_sub" | "overflowing_sub" => "write `wrapping_sub` or `saturating_sub`, and compare",
        "checked_mul" | "overflowing_mul" => "write `wrapping_mul` or `saturating_mul`, and compare",
        "checked_div" | "checked_rem" => "test the divisor before: `if d != 0 { … }`",
        "exp" | "ln" | "sqrt" | "sin" | "cos" | "powf" | "powi" | "floor" | "ceil" | "round"
            if of.is_some_and(|number| !number.is_float()) =>
        {
            return Some(format!("convert it first: `(x as f32).{name}(…)`"));
        }
        _ => return None,
    };
    Some(help.to_owned())
}

/// In place of a macro.
pub(super) fn of_macro(name: &str) -> &'static str {
    match name {
        "vec" => "use an array of a fixed length: `[0.0; 16]`",
        "println" | "print" | "eprintln" | "eprint" | "dbg" | "write" | "writeln" | "format" => {
            "remove it: all that a kernel gives is in `&mut Own<[T]>` and `&mut Out<[T]>`"
        }
        "assert" | "panic" | "unreachable" => "write its name alone, which is that of Rust's own macro",
        "assert_eq" | "debug_assert_eq" => "write `assert!(a == b)`",
        "assert_ne" | "debug_assert_ne" => "write `assert!(a != b)`",
        "debug_assert" => "write `assert!`",
        "todo" | "unimplemented" => "write `panic!()`",
        "matches" => "write `match x { 1..=5 | 9 => true, _ => false }`",
        _ => "write out what it stands for",
    }
}

/// In place of a function of a type, or of the standard library: why, and the help.
pub(super) fn of_call(path: &Path) -> (&'static [&'static str], String) {
    let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let is_number = |ty: &str| Number::named(ty).is_some();
    let help = match names[..] {
        [.., ty, _] if allocates(ty) => {
            return (&[NO_HEAP], "use an array of a fixed length: `[0.0; 16]`".to_owned());
        }
        [.., ty, "try_from"] if is_number(ty) => {
            return (&[], format!("test whether the number fits, and write `x as {ty}`"));
        }
        [.., ty, "new"] if ty.starts_with("Atomic") => {
            "atomics are in a parameter `&[AtomicU32]`, or in `block.shared::<[AtomicU32; 256]>()`"
        }
        [.., ty, "from" | "from_f64" | "from_f64_const"]
            if Number::named(ty).is_some_and(Number::is_half) =>
        {
            return (&[], format!("write `{ty}::from_f32(x as f32)`"));
        }
        [.., "cmp", "max"] => "write `a.max(b)`",
        [.., "cmp", "min"] => "write `a.min(b)`",
        [.., "mem", "swap"] => "write `(a, b) = (b, a);`",
        [.., "transmute" | "transmute_copy"] => "numbers have `to_bits`, and floats `from_bits`",
        [.., "mem", "size_of"] => "write the number, or a `const` outside of the kernel",
        [.., ty, "default"] if is_number(ty) => "write the number",
        _ => "write a function with `#[device]` that does it, outside of any `impl`",
    };
    (&[], help.to_owned())
}

/// In place of a type, or of the part of it that kernels do not have: that part, and the help.
pub(super) fn of_type(ty: &Type) -> (&Type, String) {
    let part = part_unknown(ty).unwrap_or(ty);
    let help = match part {
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return (part, String::new()) };
            match last.ident.to_string().as_str() {
                name if allocates(name) => "use an array of a fixed length: `[f32; 16]`",
                "Option" | "Result" => "use a `bool` beside the value",
                "i128" | "u128" => "use a number of up to 64 bits",
                "f128" => "use `f64`",
                "char" => "use `u8` or `u32`",
                "str" => "use numbers",
                "Index" => "write `Index`, `Index<2>` or `Index<3>`",
                "Block" if !["Block", "Block<1>", "Block<2>", "Block<3>"].contains(&&*text(part)) => {
                    "write `Block`, `Block<2>` or `Block<3>`: a grid has up to three axes"
                }
                "Block" => {
                    "write the phases in the kernel, and pass the function what it needs, such as a number"
                }
                "Own" | "Out" => "pass the thread's element, such as a `&mut f32`, or its value",
                name if name.starts_with("Atomic") => {
                    "use an atomic of a number of 32 or 64 bits, such as `AtomicU32`"
                }
                _ if Number::named(&last.ident.to_string()).is_some() => "write its name alone",
                _ => "kernels have structs without parameters: write one for each type, with `#[device]`",
            }
        }
        Type::Array(_) => "write the length as a number",
        Type::Reference(_) | Type::Slice(_) => "write `&[T]`, or an array: `[T; 16]`",
        Type::TraitObject(_) | Type::ImplTrait(_) | Type::FnPtr(_) => {
            "call the function by its name; it needs `#[device]`"
        }
        Type::Ptr(_) => "use a slice, `&[T]`, and indices",
        Type::Never(_) => "leave it out",
        _ => "use numbers, `bool`, tuples and arrays",
    };
    (part, help.to_owned())
}

/// The elements of a type that holds several: `Vec<f32>`, `Box<[f32]>`, `DeviceBuf<f32>`, `[f32]`, `[f32; 4]`.
pub(super) fn elements(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Paren(paren) => elements(&paren.elem),
        Type::Group(group) => elements(&group.elem),
        Type::Slice(slice) => Some(&slice.elem),
        Type::Array(array) => Some(&array.elem),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
            let inside = arguments.args.iter().find_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })?;
            match last.ident.to_string().as_str() {
                "Vec" | "Box" | "DeviceBuf" | "PinnedBuf" | "Arc" | "Rc" | "Own" | "Out" => {
                    Some(elements(inside).unwrap_or(inside))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether values of a type are in memory that is allocated.
fn allocates(name: &str) -> bool {
    const OWNERS: &[&str] = &[
        "Vec",
        "Box",
        "String",
        "VecDeque",
        "HashMap",
        "BTreeMap",
        "HashSet",
        "BTreeSet",
        "Rc",
        "Arc",
        "Cow",
        "PinnedBuf",
        "DeviceBuf",
    ];
    OWNERS.contains(&name)
}
