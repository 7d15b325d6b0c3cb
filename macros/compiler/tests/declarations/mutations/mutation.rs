//! Wrong declarations, made of a right one.

use super::declaration::{Declaration, Parameter, Pass, Sort};

/// The mistake in a declaration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A number of the same width that is another one: `u32` for `float`.
    OtherNumber,
    Width,
    Sign,
    SignOfChar,
    SignOfEnum,
    Constness,
    ValueForPointer,
    PointerForValue,
    /// A slice of something else for `void*`.
    ElementOfVoid,
    VectorElement,
    VectorLength,
    NumberForVector,
    /// A struct of more bytes.
    StructSize,
    /// A struct of as many bytes that is aligned to less.
    StructAlignment,
    NumberForStruct,
    Swapped,
    LeftOut,
    Added,
}

/// A number type, its bytes, and what it is: a float, a signed or an unsigned integer.
const NUMBERS: [(&str, u32, char); 13] = [
    ("bool", 1, 'b'),
    ("i8", 1, 'i'),
    ("i16", 2, 'i'),
    ("i32", 4, 'i'),
    ("i64", 8, 'i'),
    ("u8", 1, 'u'),
    ("u16", 2, 'u'),
    ("u32", 4, 'u'),
    ("u64", 8, 'u'),
    ("half::f16", 2, 'f'),
    ("half::bf16", 2, 'h'),
    ("f32", 4, 'f'),
    ("f64", 8, 'f'),
];

/// A struct with more bytes than the source's, and one that is aligned to less.
pub const LARGER: &str = "Larger";
pub const LOOSER: &str = "Looser";

/// All wrong declarations of one edit, and what is wrong with each.
pub fn mutations(right: &Declaration) -> Vec<(Kind, Declaration)> {
    let mut all = Vec::new();
    for (at, parameter) in right.parameters.iter().enumerate() {
        let mut wrong = types(parameter);
        wrong.extend(passes(parameter));
        all.extend(wrong.into_iter().map(|(kind, parameter)| {
            let mut mutated = right.clone();
            mutated.parameters[at] = parameter;
            (kind, mutated)
        }));
        let mut fewer = right.clone();
        fewer.parameters.remove(at);
        all.push((Kind::LeftOut, fewer));
        let mut swapped = right.clone();
        if at > 0 {
            swapped.parameters.swap(at - 1, at);
            let same = |one: &Parameter, other: &Parameter| one.pass == other.pass && one.ty == other.ty;
            if !same(&right.parameters[at - 1], parameter) {
                all.push((Kind::Swapped, swapped));
            }
        }
    }
    for at in [0, right.parameters.len()] {
        let mut more = right.clone();
        let (name, ty) = ("more".to_owned(), "u32".to_owned());
        more.parameters.insert(at, Parameter { name, pass: Pass::Value, ty, sort: Sort::Number });
        all.push((Kind::Added, more));
    }
    all
}

/// The same parameter with other types.
fn types(parameter: &Parameter) -> Vec<(Kind, Parameter)> {
    let of = |ty: &str| Parameter { ty: ty.to_owned(), ..parameter.clone() };
    match parameter.sort {
        Sort::Number | Sort::Char | Sort::Enum => {
            let (_, bytes, is) = number(&parameter.ty);
            // The others are as wide, or half or twice as wide and of the same kind.
            let others = NUMBERS.into_iter().filter(|&(name, other, other_is)| {
                let is_near = other == 2 * bytes || bytes == 2 * other;
                name != parameter.ty && (other == bytes || (is_near && other_is == is))
            });
            others.map(|(name, ..)| (kind(parameter, name), of(name))).collect()
        }
        Sort::Untyped => vec![(Kind::ElementOfVoid, of("f32")), (Kind::ElementOfVoid, of("u64"))],
        Sort::Vector => {
            let inside = parameter.ty.trim_matches(['[', ']']);
            let Some((element, count)) = inside.split_once("; ") else { return Vec::new() };
            let count: u32 = count.parse().expect("a length");
            let (_, bytes, _) = number(element);
            let mut wrong: Vec<_> = NUMBERS
                .into_iter()
                .filter(|(name, other, _)| *other == bytes && *name != element && *name != "bool")
                .map(|(name, ..)| (Kind::VectorElement, of(&format!("[{name}; {count}]"))))
                .collect();
            for count in [count - 1, count + 1] {
                wrong.push((Kind::VectorLength, of(&format!("[{element}; {count}]"))));
            }
            let whole = NUMBERS.into_iter().filter(|(_, other, _)| *other == bytes * count);
            wrong.extend(whole.filter(|_| count > 1).map(|(name, ..)| (Kind::NumberForVector, of(name))));
            wrong
        }
        Sort::Struct => {
            let mut wrong = vec![(Kind::StructSize, of(LARGER)), (Kind::StructAlignment, of(LOOSER))];
            let numbers = ["u8", "u16", "u32", "f32", "u64", "f64"];
            wrong.extend(numbers.map(|name| (Kind::NumberForStruct, of(name))));
            wrong
        }
    }
}

fn number(name: &str) -> (&'static str, u32, char) {
    NUMBERS.into_iter().find(|(number, ..)| *number == name).expect("a number")
}

/// The mistake if a number is declared as another one.
fn kind(right: &Parameter, other: &str) -> Kind {
    let ((_, bytes, is), (_, other_bytes, other_is)) = (number(&right.ty), number(other));
    let integers = "iu".contains(is) && "iu".contains(other_is);
    match right.sort {
        Sort::Char if integers && bytes == other_bytes => Kind::SignOfChar,
        Sort::Enum if integers && bytes == other_bytes => Kind::SignOfEnum,
        _ if bytes != other_bytes => Kind::Width,
        _ if integers => Kind::Sign,
        _ => Kind::OtherNumber,
    }
}

/// The same parameter passed in other ways.
fn passes(parameter: &Parameter) -> Vec<(Kind, Parameter)> {
    let of = |pass: Pass| Parameter { pass, ..parameter.clone() };
    let (ways, kind): (&[Pass], _) = match parameter.pass {
        Pass::Value => (&[Pass::Read, Pass::ReadWrite, Pass::Out], Kind::PointerForValue),
        Pass::Read => (&[Pass::ReadWrite, Pass::Out], Kind::Constness),
        Pass::ReadWrite | Pass::Out => (&[Pass::Read], Kind::Constness),
    };
    let mut wrong: Vec<_> = ways.iter().map(|&pass| (kind, of(pass))).collect();
    if parameter.pass != Pass::Value {
        wrong.push((Kind::ValueForPointer, of(Pass::Value)));
        let address = Parameter { ty: "u64".to_owned(), ..of(Pass::Value) };
        wrong.extend((parameter.ty != "u64").then_some((Kind::ValueForPointer, address)));
    }
    wrong
}
