//! Mistakes in kernels in Rust: each is one error, which says what to write, and rustc finds no second one.

use thalweg_compiler::rust_kernels::{Role, expand};

use crate::declared::{self, tokens};
use crate::emitted;

/// The one error of a function, after its code.
#[track_caller]
pub(crate) fn error_of(role: Role, attr: &str, function: &str) -> String {
    let expanded = expand(role, tokens(attr), tokens(function));
    let said = emitted::errors(expanded.clone());
    let [one] = &said[..] else {
        let texts: Vec<_> = said.iter().map(|said| &said.text).collect();
        panic!("{function}: {texts:?}")
    };
    emitted::in_style(&one.text);
    let stub: syn::File = syn::parse2(expanded).unwrap_or_else(|error| panic!("{function}: {error}"));
    assert!(!stub.items.is_empty());
    one.text.clone()
}

/// A kernel with these statements.
fn kernel(body: &str) -> String {
    format!("fn k(i: Index, n: u32, a: f32, x: &[f32], y: &mut Own<[f32]>) {{ {body} }}")
}

/// Expects that the statements give one error, whose code and fact, and whose help, are these.
#[track_caller]
fn assert_body(body: &str, fact: &str, help: &str) {
    let error = error_of(Role::Kernel, "", &kernel(body));
    assert!(error.starts_with(&format!("[{fact}")), "{body}: {error}");
    assert!(error.contains(&format!("\nhelp: {help}")), "{body}: {error}");
}

/// Expects the same of a parameter.
#[track_caller]
fn assert_parameter(ty: &str, fact: &str, help: &str) {
    let error = error_of(Role::Kernel, "", &format!("fn k(i: Index, p: {ty}) {{}}"));
    assert!(error.starts_with(&format!("[TW0905]: {fact}\n")), "{ty}: {error}");
    assert!(error.contains(&format!("\nhelp: {help}")), "{ty}: {error}");
}

#[test]
fn what_is_not_in_the_language_is_named_with_what_to_write() {
    for (body, what, help) in [
        ("let v = vec![0.0; 4];", "the macro `vec!`", "use an array of a fixed length: `[0.0; 16]`"),
        ("let v = Vec::new(); v.push(1.0);", "`Vec::new`", "use an array of a fixed length"),
        ("let v = std::boxed::Box::new(1.0);", "`std::boxed::Box::new`", "use an array of a fixed length"),
        ("let s = String::from(\"x\");", "`String::from`", "use an array of a fixed length"),
        ("let s = \"abc\"; let n = s.len();", "text", "use numbers"),
        ("let c = 'x';", "a `char`", "write `b'x'`, which is a `u8`"),
        ("let c = 'é';", "a `char`", "use its number, a `u32`"),
        ("let v = x.get(3)?;", "`?`", "write `let Some(x) = … else { return };`"),
        ("let p = P { a: 1.0, .. };", "a struct of defaults", "write all fields"),
        (
            "let p = P::new(1.0);",
            "`P::new`",
            "write a function with `#[device]` that does it, outside of any",
        ),
        ("let p = Shape::Round(1.0);", "`Shape::Round`", "write a function with `#[device]`"),
        ("let p = Shape::Round;", "the variant `Shape::Round`", "use numbers"),
        ("let p = Some(1.0);", "making an `Option`", "use a `bool` beside the value"),
        ("let p = None;", "making an `Option`", "use a `bool` beside the value"),
        ("let p = Ok(1.0);", "making a `Result`", "use a `bool` beside the value"),
        ("let p = &raw const x[0];", "a raw pointer", "take a reference, or an element by its index"),
        ("let v = unsafe { std::mem::transmute(n) };", "`std::mem::transmute`", "numbers have `to_bits`"),
        ("let f = async { 1 };", "`async`", "remove it"),
        ("let r = 0..4;", "a range on its own", "use it in `for i in 0..n`"),
        ("for j in 0.. { }", "a loop over a range without an end", "write both ends"),
        ("match x.get(0) { Some(v) => {} None => {} }", "a `match` of an `Option`", "write `if let Some(x)"),
        ("match x.get(0) { None => {} _ => {} }", "a `match` of an `Option`", "write `if let Some(x)"),
        ("if let None = x.get(0) { }", "the pattern `None`", "write `if let Some(_)"),
        ("if let Some(&v) = x.get(0) { }", "a pattern inside of `Some`", "write `Some(name)`"),
        ("let v = match (n, n) { (0, 1) => 1, _ => 2 };", "this pattern", "compare with numbers"),
        ("let v = 1_i128;", "a number of the type `i128`", "write `f32`, `f64` or an integer type"),
        ("let v = 1.0_f16;", "a number of the type `f16`", "write `f32`, `f64` or an integer type"),
        (
            "fn helper() {}",
            "a function inside of another",
            "write it outside of the kernel, with `#[device]`",
        ),
        ("static S: u32 = 1;", "a `static` inside of a function", "write it outside of the function"),
        ("struct S;", "a `struct` inside of a function", "write it outside of the function"),
        ("use std::f32::consts::*;", "a `use` of everything", "name what the kernel uses"),
        ("println!(\"{}\", n);", "the macro `println!`", "remove it"),
        ("assert_eq!(n, 1);", "the macro `assert_eq!`", "write `assert!(a == b)`"),
        ("debug_assert!(n > 1);", "the macro `debug_assert!`", "write `assert!`"),
        ("todo!();", "the macro `todo!`", "write `panic!()`"),
        ("square!(n);", "the macro `square!`", "write out what it stands for"),
        ("let m = std::cmp::max(n, 1);", "`std::cmp::max`", "write `a.max(b)`"),
        ("std::mem::swap(&mut n, &mut n);", "`std::mem::swap`", "write `(a, b) = (b, a);`"),
        ("let t = Instant::now();", "`Instant::now`", "write a function with `#[device]`"),
        ("let m = u32::try_from(n);", "`u32::try_from`", "test whether the number fits"),
        ("let h = half::f16::from_f64(2.0);", "`f16::from_f64`", "write `f16::from_f32(x as f32)`"),
        ("let h = bf16::from(1_u8);", "`bf16::from`", "write `bf16::from_f32(x as f32)`"),
        ("let m = u32::default();", "`u32::default`", "write the number"),
        ("let f = n; let v = f(1);", "a call of a value", "call a closure, or a `#[device]` function"),
        ("let b = (n, n) == (1, 1);", "a comparison of tuples or arrays", "compare their parts"),
        ("#[cfg(test)] let b = 1;", "`#[cfg]` inside of a function", "put it on the whole function"),
        ("let z = |(a, b)| a; ", "a pattern as a closure's parameter", "write a name"),
    ] {
        assert_body(body, &format!("TW0901]: {what} is not in the language of kernels\n"), help);
    }
}

#[test]
fn types_are_named_with_what_to_use() {
    for (ty, part, help) in [
        ("Vec<f32>", "Vec<f32>", "use an array of a fixed length"),
        ("(u32, Vec<f32>)", "Vec<f32>", "use an array of a fixed length"),
        ("[HashMap<u32, u32>; 2]", "HashMap<u32, u32>", "use an array of a fixed length"),
        ("&dyn Fn(u32) -> u32", "dyn Fn(u32) -> u32", "call the function by its name; it needs `#[device]`"),
        ("fn(u32) -> u32", "fn(u32) -> u32", "call the function by its name; it needs `#[device]`"),
        ("Option<f32>", "Option<f32>", "use a `bool` beside the value"),
        ("u128", "u128", "use a number of up to 64 bits"),
        ("char", "char", "use `u8` or `u32`"),
        ("&str", "str", "use numbers"),
        ("*const f32", "*const f32", "use a slice, `&[T]`, and indices"),
        ("f128", "f128", "use `f64`"),
        ("Pair<f32>", "Pair<f32>", "kernels have structs without parameters: write one for each type"),
        ("std::primitive::u8", "std::primitive::u8", "write its name alone"),
    ] {
        let fact = format!("TW0902]: a kernel cannot use the type `{part}`\n");
        assert_body(&format!("let v: {ty} = f(); let w = v.sum(1)[3];"), &fact, help);
    }
}

#[test]
fn parameters_are_named_with_what_to_use() {
    let own = "write `&mut Own<[f32]>`, of which each thread has its own element, or `&mut Out<[f32]>` if";
    for (ty, help) in [
        ("&mut [f32]", own),
        ("&mut Vec<f32>", own),
        ("&mut Box<[f32]>", own),
        ("&mut DeviceBuf<f32>", own),
        ("&mut f32", own),
        ("&mut Own<f32>", own),
        ("&mut Out<Vec<f32>>", own),
        ("&Vec<f32>", "write `&[f32]`"),
        ("&DeviceBuf<f32>", "write `&[f32]`"),
        ("[f32]", "write `&[f32]`"),
        ("&f32", "pass it by value: `f32`"),
        ("&[f32; 4]", "pass it by value: `[f32; 4]`"),
        ("Own<[f32]>", "write `&mut Own<[f32]>`"),
        ("&Out<[f32]>", "write `&mut Out<[f32]>`"),
        ("&Index", "write `Index`"),
        ("&AtomicU32", "write `&[AtomicU32]`, which all threads change"),
        ("&mut AtomicF64", "write `&[AtomicF64]`, which all threads change"),
        ("&[AtomicU32; 4]", "write `&[AtomicU32]`, which all threads change"),
        ("std::sync::atomic::AtomicU64", "write `&[std::sync::atomic::AtomicU64]`, which all threads change"),
        ("Index<4>", "write `Index`, `Index<2>` or `Index<3>`"),
        ("(f32, f32)", "a tuple has no layout that a GPU knows: use a struct with `#[device]`, or an array"),
        ("&Particle", "pass it by value: `Particle`"),
        ("&mut Particle", "write `&mut Own<[Particle]>`, of which each thread has its own element"),
        ("Pair<f32>", "kernels have structs without parameters"),
        ("char", "use `u8` or `u32`"),
        ("String", "use an array of a fixed length"),
        ("&dyn Shape", "call the function by its name; it needs `#[device]`"),
    ] {
        assert_parameter(ty, &format!("a kernel cannot take a `{ty}`"), help);
    }
    for (ty, element, help) in [
        ("&[bool]", "bool", "use `u8`, and compare with 0"),
        ("&mut Out<[bool]>", "bool", "use `u8`, and compare with 0"),
        ("&[(f32, f32)]", "(f32, f32)", "a tuple has no layout that a GPU knows: use a struct"),
        ("&[Pair<f32>]", "Pair<f32>", "kernels have structs without parameters"),
        ("&[AtomicBool]", "AtomicBool", "use an atomic of a number of 32 or 64 bits"),
        ("&[[AtomicU32; 4]]", "AtomicU32", "write `&[AtomicU32]`, which all threads change"),
        ("&mut Own<[AtomicI64]>", "AtomicI64", "write `&[AtomicI64]`, which all threads change"),
        ("&[[bool; 2]]", "bool", "use `u8`, and compare with 0"),
    ] {
        assert_parameter(ty, &format!("a kernel cannot take elements of the type `{element}`"), help);
    }
    let error = error_of(Role::Device, "", "fn f(x: &mut [f32]) {}");
    assert!(error.ends_with("\nhelp: return the values, or take an array: `&mut [f32; 16]`"), "{error}");
    let error = error_of(Role::Device, "", "fn f(x: &mut Own<[f32]>) {}");
    assert!(
        error.ends_with("\nhelp: pass the thread's element, such as a `&mut f32`, or its value"),
        "{error}"
    );
}

#[test]
fn structs_have_a_layout_and_fields_that_a_gpu_knows() {
    let error = |text: &str| error_of(Role::Device, "", text);
    for (field, part, help) in [
        ("bool", "bool", "use `u8`, and compare with 0: a byte in a buffer may have any value"),
        ("[[bool; 2]; 3]", "bool", "use `u8`"),
        ("(f32, u32)", "(f32, u32)", "a tuple has no layout that a GPU knows: use a struct"),
        ("&'static [f32]", "&'static [f32]", "use an index into a slice that the kernel takes"),
        ("Index", "Index", "use a number"),
    ] {
        let said = error(&format!("#[repr(C)] struct P {{ a: f32, b: {field} }}"));
        let fact = format!("[TW0902]: a field of a kernel's struct cannot have the type `{part}`\n");
        assert!(said.starts_with(&fact) && said.contains(&format!("\nhelp: {help}")), "{said}");
    }
    for (field, help) in [
        ("char", "use `u8` or `u32`"),
        ("*const f32", "use a slice, `&[T]`, and indices"),
        ("Option<u32>", "use a `bool` beside the value"),
        ("Vec<f32>", "use an array of a fixed length"),
        ("u128", "use a number of up to 64 bits"),
    ] {
        let said = error(&format!("#[repr(C)] struct P {{ a: {field} }}"));
        let fact = format!("[TW0902]: a kernel cannot use the type `{field}`\n");
        assert!(said.starts_with(&fact) && said.contains(&format!("\nhelp: {help}")), "{said}");
    }
    for (item, fact, help) in [
        ("struct P { a: f32 }", "`P` has no layout that a GPU knows", "write `#[repr(C)]` above it"),
        ("#[repr(align(4))] struct P { a: f32 }", "`P` has no layout that a GPU knows", "write `#[repr(C)]`"),
        ("#[repr(C, packed)] struct P { a: f32 }", "`P` is packed", "remove `packed`"),
        ("#[repr(C)] struct P<T> { a: T }", "`P` is generic", "write a struct for each type"),
        ("#[repr(C)] struct P;", "`P` has no fields", "give it a field, or leave it out"),
        (
            "#[repr(C)] #[device] struct P { a: f32 }",
            "`P` has `#[device]` and `#[device]`",
            "remove one of them",
        ),
        (
            "enum P { A }",
            "`#[device]` is on an item that is no function and no struct",
            "put it on a `fn` or a",
        ),
        ("union P { a: f32 }", "`#[device]` is on an item that is no function and no struct", "put it on a"),
    ] {
        let said = error(item);
        assert!(said.starts_with(&format!("[TW0910]: {fact}\n")), "{said}");
        assert!(said.contains(&format!("\nhelp: {help}")), "{said}");
    }
    let said = error("#[repr(C)] struct P { #[cfg(test)] a: f32 }");
    assert!(said.starts_with("[TW0901]: `#[cfg]` inside of a struct is not"), "{said}");
}

#[test]
fn elements_of_other_threads_are_out_of_reach() {
    let take = "take the thread's own element: `let Some(own) = y.get_mut(i) else { return };`";
    for (body, fact) in [
        ("y[n as usize] = 1.0;", "`y[n as usize]` is written, but another thread may write it"),
        ("y[i] += 1.0;", "`y[i]` is written, but another thread may write it"),
        ("(y)[i] *= y[i];", "`(y)[i]` is written, but another thread may write it"),
        ("let z = &mut y[0..4]; z[3] = 1.0;", "`y[0..4]` is written, but another thread may write it"),
        ("let v = y[3] + 1.0;", "`y[3]` is read, but another thread may write it"),
        ("let v = &y[3..]; let w = v[0];", "`y[3..]` is read, but another thread may write it"),
        ("for v in y { *v = 1.0; }", "`y` has elements of other threads"),
        ("for v in y.iter_mut() { *v = 1.0; }", "`y` has elements of other threads"),
        ("let v = y.get(i);", "`y` has elements of other threads"),
        ("y.swap(0, 1);", "`y` has elements of other threads"),
        // A trait's method for the reference would be found before that of `Own`.
        ("if let Some(v) = (&mut y).get_mut(i) { *v = 1.0; }", "`y` has elements of other threads"),
        ("let z = &mut y; if let Some(v) = z.get_mut(i) { *v = 1.0; }", "`y` has elements of other threads"),
    ] {
        let take = take.replace("= y", if body.contains("(y)") { "= (y)" } else { "= y" });
        assert_body(body, &format!("TW0904]: {fact}\n"), &take);
    }
    for at in ["n as usize", "i.get()", "0", "(i.get() + 1) % 4"] {
        let fact = format!("TW0904]: `y.get_mut({at})` may be the element of another thread\n");
        let body = format!("let Some(v) = y.get_mut({at}) else {{ return }}; *v = 1.0;");
        assert_body(&body, &fact, "pass the kernel's `Index` as it is: `y.get_mut(i)`");
    }
}

#[test]
fn methods_are_named_with_what_to_write() {
    for (body, method, help) in [
        ("let s = x.iter().sum();", "sum", "write a loop"),
        ("let s = x.windows(2);", "windows", "take the parts in a loop"),
        ("let s = x.get(1).unwrap();", "unwrap", "write `let Some(x) = … else { return };`"),
        ("let s = x.first();", "first", "write `x.get(0)`, or `x[0]`"),
        ("let s = x.get_mut(0);", "get_mut", "take the data as `&mut Own<[T]>`"),
        ("let s = n.sqrt();", "sqrt` of `u32", "convert it first: `(x as f32).sqrt(…)`"),
        ("let s = n.checked_add(1);", "checked_add` of `u32", "write `wrapping_add` or `saturating_add`"),
        ("let s = a.sqr();", "sqr` of `f32", "a method with a similar name exists: `sqrt`"),
        ("let s = a.pow(2);", "pow` of `f32", "a method with a similar name exists: `powi`"),
        ("let s = a.total_cmp(&a);", "total_cmp` of `f32", "compare by an operator"),
        ("let s = n.into();", "into` of `u32", "write the type"),
        ("let s = a.gamma();", "gamma` of `f32", "write it out with operators, `if` and loops"),
        (
            "let p: P = f(); let s = p.norm();",
            "norm",
            "write it as a function with `#[device]`, outside of any",
        ),
    ] {
        let fact = format!("TW0908]: the method `{method}` is not in the language of kernels\n");
        assert_body(body, &fact, help);
    }
    let fact = "TW0901]: a loop over `zip` is not in the language of kernels\n";
    assert_body("for (a, b) in x.iter().zip(x) {}", fact, "go over a range of indices");
}

#[test]
fn one_literal_of_an_unknown_type_is_reported() {
    let unknown = "TW0903]: the type of this literal must be written\n";
    assert_body("let b = count(n) % 4 == 0;", unknown, "write its type, such as `4_u32`");
    assert_body("let b = N > 2;", unknown, "write its type, such as `2_u32`");
    assert_body("let b = LIMIT * 2.0;", unknown, "write `2.0_f32` or `2.0_f64`");
    assert_body("let b = LIMIT * 2.;", unknown, "write `2.0_f32` or `2.0_f64`");
    assert_body("f([1.0, 2.0]);", unknown, "write `1.0_f32` or `1.0_f64`");
    assert_body("f(&[1, 2]);", unknown, "write its type, such as `1_u32`");
    assert_body("let z = 1 + 1; f(z);", unknown, "write its type, such as `1_u32`");
}

#[test]
fn a_misspelt_variable_is_reported_once() {
    let body = "let alpha = a + 1.0; let b = alhpa * 2.0; let c = b.sqrt() + alpha;";
    assert_body(
        body,
        "TW0301]: cannot find `alhpa` in this function\n",
        "a variable with a similar name exists: `alpha`",
    );
}

#[test]
fn signatures() {
    for (function, fact, help) in [
        ("fn k(x: &[f32]) {}", "kernel `k` does not begin with its position", "write `i: Index`"),
        ("fn k(i: usize) {}", "kernel `k` does not begin with its position", "write `i: Index`"),
        ("fn k() {}", "kernel `k` does not begin with its position", "write `i: Index`"),
        ("fn k(i: Index, j: Index<2>) {}", "kernel `k` has two positions", "remove this one"),
        ("fn k(&self, i: Index) {}", "kernel `k` takes `self`", "write a function outside of any `impl`"),
        ("fn k(i: Index, [a, b]: [f32; 2]) {}", "a parameter has a pattern", "write a name"),
        (
            "fn k(i: Index) -> f32 { 1.0 }",
            "kernel `k` returns a value",
            "write it to the thread's element of a parameter: `&mut Out<[f32]>`",
        ),
        (
            "fn k(i: Index) -> Result<(), E> { Ok(()) }",
            "kernel `k` returns a value",
            "write it to the thread's element",
        ),
        (
            "fn k<T: Pod>(i: Index, x: &[T]) {}",
            "kernel `k` is generic",
            "write the types that it is for: `#[kernel(T in [f32, f64])]`",
        ),
        (
            "fn k<const N: usize>(i: Index) {}",
            "kernel `k` is generic",
            "write the numbers that it is for: `#[kernel(N in [3, 5])]`",
        ),
        ("fn k<'a>(i: Index, x: &'a [f32]) {}", "kernel `k` has lifetimes", "remove them"),
        ("fn k(i: Index) where f32: Copy {}", "kernel `k` has a `where` clause", "remove it"),
        ("async fn k(i: Index) {}", "kernel `k` is declared `async`", "remove it"),
        ("const fn k(i: Index) {}", "kernel `k` is declared `const`", "remove it"),
        ("extern \"C\" fn k(i: Index) {}", "kernel `k` is declared `extern`", "remove it"),
    ] {
        let error = error_of(Role::Kernel, "", function);
        assert!(error.starts_with(&format!("[TW0907]: {fact}")), "{function}: {error}");
        assert!(error.contains(&format!("\nhelp: {help}")), "{function}: {error}");
    }
    let error = error_of(Role::Device, "", "fn f(n: u32) -> u32 { if n == 0 { 1 } else { n * f(n - 1) } }");
    assert!(error.starts_with("[TW0909]: `f` calls itself\n"), "{error}");
}

#[test]
fn attributes() {
    const KERNEL: &str = "fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {}";
    for (attr, function, fact, help) in [
        ("treads = 256", KERNEL, "unknown argument `treads`", "write `threads`"),
        ("T in [f32, str]", KERNEL, "`T` cannot be `str`", "write types of numbers"),
        ("T in [f32, f32]", KERNEL, "`f32` stands twice", "remove one of them"),
        ("T in []", KERNEL, "`T` stands for nothing", "write the types or the numbers"),
        (
            "T in f32, threads = 32",
            KERNEL,
            "this is no list of types or numbers",
            "write the types or the numbers",
        ),
        ("threads = 0", KERNEL, "a block cannot have 0 threads", "write 1 to 1024"),
        ("threads = 1025", KERNEL, "a block cannot have 1025 threads", "write 1 to 1024"),
        ("threads = N", KERNEL, "`threads` needs a number", "write `threads = 256`"),
        ("threads", KERNEL, "`threads` needs a number", "write `threads = 256`"),
        ("threads(256)", KERNEL, "`threads` needs a number", "write `threads = 256`"),
        ("threads = 1, threads = 2", KERNEL, "`threads` stands twice", "remove one of them"),
        ("fast = true", KERNEL, "`fast` has no value", "write `fast` alone"),
        ("fast threads = 1", KERNEL, "a comma is missing before this", "write a comma"),
        ("\"saxpy.cu\"", KERNEL, "`#[kernel]` takes no file", "declare kernels of a CUDA C++ file with"),
        ("crate", KERNEL, "`crate` needs a path", "write `crate = ::thalweg`"),
        ("3", KERNEL, "this is no argument", "remove it"),
        ("", "struct S;", "`#[kernel]` is on an item that is not a function", "put it on a `fn`"),
        ("", "mod m {}", "`#[kernel]` is on an item that is not a function", "put it on a `fn`"),
        ("", "fn k(i: Index);", "`#[kernel]` is on a function without a body", "write a body"),
        ("", "#[kernel] fn k(i: Index) {}", "`k` has `#[kernel]` twice", "remove one of them"),
        (
            "",
            "#[thalweg::device] fn k(i: Index) {}",
            "`k` has both `#[kernel]` and `#[device]`",
            "remove one",
        ),
        ("", "#[requires] fn k(i: Index) {}", "`#[requires]` needs a condition", "write one, such as"),
        ("", "#[requires(true, true)] fn k(i: Index) {}", "`#[requires]` needs a condition", "write one"),
        (
            "",
            "#[requires(\"n\")] fn k(i: Index) {}",
            "`#[requires]` needs a condition, and this is",
            "write it without",
        ),
    ] {
        let expanded = expand(Role::Kernel, tokens(attr), tokens(function));
        let said = emitted::errors(expanded);
        let [one] = &said[..] else { panic!("{attr} {function}: {} errors", said.len()) };
        emitted::in_style(&one.text);
        assert!(one.text.starts_with(&format!("[TW0910]: {fact}")), "{function}: {}", one.text);
        assert!(one.text.contains(&format!("\nhelp: {help}")), "{function}: {}", one.text);
    }
    let error = error_of(Role::Device, "", "#[requires(x > 0.0)] fn f(x: f32) -> f32 { x }");
    assert!(
        error.starts_with("[TW0910]: `f` is no kernel, and nothing checks what it requires\n"),
        "{error}"
    );
    let error = error_of(Role::Device, "fast", "fn f(x: f32) -> f32 { x }");
    assert!(error.starts_with("[TW0910]: unknown argument `fast`\n"), "{error}");
}

/// Statements with several mistakes show them all.
#[test]
fn mistakes_of_several_statements_show_together() {
    let expanded = expand(
        Role::Kernel,
        tokens(""),
        tokens(&kernel("let v = vec![1]; v[0] = 2; y[0] = \"a\"; x.sum();")),
    );
    let codes: Vec<_> = emitted::errors(expanded).iter().map(|said| said.text[1..7].to_owned()).collect();
    assert_eq!(codes, ["TW0901", "TW0901", "TW0908"]);
}

/// In place of a function with errors stands one that rustc finds nothing wrong with.
#[test]
fn a_function_with_errors_has_no_body() {
    let expanded = expand(
        Role::Kernel,
        tokens(""),
        tokens(&kernel("let v = helper(N); let w = x.wrong(); let z = v?;")),
    );
    let (_, rest) = declared::errors_and_rest(expanded);
    let function = rest.iter().find_map(|item| match item {
        syn::Item::Fn(function) => Some(function),
        _ => None,
    });
    let function = function.expect("the function");
    let text = quote::quote!(#function).to_string();
    assert!(!text.contains("wrong"), "{text}");
    // What it names is used, and so no import of it is called unused.
    assert!(text.contains("PhantomData :: < helper >") && text.contains("let _ = N ;"), "{text}");
}

/// The watch of a kernel with `unsafe` does not follow what atomics order.
#[test]
fn atomics_beside_any_element_are_relaxed() {
    let kernel = |order: &str| {
        format!(
            "fn k(i: Index, a: &[AtomicU32], y: &mut Own<[f32]>) {{
                let n = a[0].fetch_add(1, Ordering::{order});
                unsafe {{ *y.any_mut(n as usize) = 1.0 }};
            }}"
        )
    };
    let error = error_of(Role::Kernel, "", &kernel("AcqRel"));
    let fact = "[TW0912]: the order `Ordering::AcqRel` in a kernel that takes any element in `unsafe`";
    assert!(error.starts_with(fact), "{error}");
    assert!(error.contains("\nhelp: write `Relaxed`, "), "{error}");
    let relaxed = expand(Role::Kernel, tokens(""), tokens(&kernel("Relaxed")));
    assert!(emitted::errors(relaxed).is_empty());
}
