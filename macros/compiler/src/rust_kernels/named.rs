//! Types that rustc alone knows: structs with `#[device]`, aliases, and what their parts are.
//!
//! The macro sees the name that the user has written and the fields that the body reads. C++ finds the types of
//! those by `decltype`, and rustc by the expressions themselves, so that both have the same.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCast, ExprPath, GenericArgument, Member, PathArguments, PathSegment, Type, TypePath};

use super::atomics::Order;
use super::names::in_cpp;
use super::types::Number;
use crate::groups::peel;

/// A type that the user has named, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The type that was named: an index into the function's list of them.
    pub(super) item: usize,
    /// Its name in C++.
    pub(super) name: String,
    /// The way from it to the part.
    pub(super) parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Field(Member),
    /// An element of an array.
    Element,
    /// The unsigned integer of the size of an integer.
    Unsigned,
    /// The unsigned integer with a float's bits.
    Bits,
}

/// What lies in memory.
#[derive(Debug)]
pub(super) enum Held {
    Bytes(u64),
    /// A value whose size rustc alone knows.
    Named(Named),
}

/// What a name seems to mean, while the user may have given it to something else.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Assumed {
    /// The type that is this number.
    Type(ExprPath, Number),
    /// The type `u128`, which only conditions of launches have.
    Wide(ExprPath),
    /// A constant of this type, such as `u8::MAX`.
    Constant(ExprPath, Number),
    /// The type `bool`.
    Bool(ExprPath),
    /// The atomic of this name.
    Atomic(ExprPath, &'static str),
    /// An `Index` of so many axes.
    Index(ExprPath),
    /// This order of memory.
    Order(ExprPath, Order),
    /// What makes values of the struct of this name, and takes them apart.
    Tuple(ExprPath),
    /// A new variable in a pattern, and not a constant.
    Variable(Ident),
}

impl Assumed {
    /// The names of numbers to which conditions of launches cast. The host computes with these types, and what is
    /// proved from the conditions is about the numbers that the names mean elsewhere.
    pub(super) fn of_casts(conditions: &[Expr]) -> Vec<Self> {
        let mut casts = Casts(Vec::new());
        conditions.iter().for_each(|condition| casts.visit_expr(condition));
        casts.0
    }
}

/// What the casts of an expression assume.
struct Casts(Vec<Assumed>);

impl<'ast> Visit<'ast> for Casts {
    fn visit_expr_cast(&mut self, cast: &'ast ExprCast) {
        visit::visit_expr_cast(self, cast);
        let Type::Path(TypePath { qself: None, path, .. }) = peel(&cast.ty) else { return };
        let named = ExprPath { attrs: Vec::new(), qself: None, path: path.clone() };
        self.0.extend(match Number::natural(&cast.ty) {
            Some(number) => Some(Assumed::Type(named, number)),
            None => is_wide(&cast.ty).then_some(Assumed::Wide(named)),
        });
    }
}

/// Whether a type is called `u128`.
pub(super) fn is_wide(ty: &Type) -> bool {
    matches!(peel(ty), Type::Path(path) if path.path.is_ident("u128"))
}

impl Named {
    pub(super) fn part(&self, part: Part) -> Self {
        let mut named = self.clone();
        named.parts.push(part);
        named
    }

    /// The type in C++.
    pub(super) fn cpp(&self) -> String {
        self.parts.iter().fold(self.name.clone(), |text, part| match part {
            Part::Field(member) => format!("decltype({text}::{})", field(member)),
            Part::Element => format!("tw::Element<{text}>"),
            Part::Unsigned => format!("tw::AsUnsigned<{text}>"),
            Part::Bits => format!("tw::Bits<{text}>"),
        })
    }

    /// The part of a value of the named type, as Rust reads it.
    pub(super) fn read(&self, of: &TokenStream) -> TokenStream {
        self.parts.iter().fold(of.clone(), |text, part| match part {
            Part::Field(member) => quote!(#text.#member),
            Part::Element => quote!(#text[0]),
            Part::Unsigned => quote!(#text.abs_diff(#text)),
            Part::Bits => quote!(#text.to_bits()),
        })
    }
}

/// Whether a path may be that of a struct or of an alias. Those that are known to be something else have an
/// error of their own.
pub(super) fn is_name(path: &TypePath) -> bool {
    const OTHERS: &[&str] = &[
        "i128",
        "u128",
        "f128",
        "char",
        "str",
        "bool",
        "Self",
        "String",
        "Option",
        "Result",
        "Own",
        "Out",
        "Index",
        "Block",
        "BlockIndex",
        "BlockThread",
    ];
    let Some(last) = path.path.segments.last() else { return false };
    let mut segments = path.path.segments.iter();
    let has_arguments = segments.any(|segment| segment.arguments != PathArguments::None);
    let name = last.ident.to_string();
    path.qself.is_none()
        && (!has_arguments || is_complex(last))
        && Number::named(&name).is_none()
        && !name.starts_with("Atomic")
        && !OTHERS.contains(&name.as_str())
}

/// Whether it is written as the generic type of complex numbers is: the one generic struct that kernels know.
fn is_complex(last: &PathSegment) -> bool {
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return false };
    let is_float = |argument: &GenericArgument| match argument {
        GenericArgument::Type(Type::Path(of)) => of.path.is_ident("f32") || of.path.is_ident("f64"),
        _ => false,
    };
    last.ident == "Complex" && arguments.args.len() == 1 && arguments.args.iter().all(is_float)
}

/// The type of the crate `half` that the path names, as far as names tell.
pub(super) fn half(path: &TypePath) -> Option<Number> {
    let last = path.path.segments.last()?;
    let number = Number::named(&last.ident.to_string()).filter(|number| number.is_half())?;
    let plain = path.path.segments.iter().all(|segment| segment.arguments == PathArguments::None);
    (plain && path.qself.is_none()).then_some(number)
}

/// A field's name in C++: the same for all that name it, and another for each field.
pub(super) fn field(member: &Member) -> String {
    let name = match member {
        Member::Unnamed(index) => return format!("_{}", index.index),
        Member::Named(name) => name.unraw().to_string(),
    };
    let begins = name.starts_with(|first: char| first.is_ascii_lowercase());
    // A type's name cannot mean something else inside of a struct, nor can a field be in C++'s own words.
    if begins && !name.starts_with("tw_") && in_cpp(&name) == name {
        return name;
    }
    let mut text = String::from("tw_");
    for letter in name.chars() {
        match letter {
            'Z' => text += "ZZ",
            '_' => text += "Zu",
            letter if letter.is_ascii_alphanumeric() => text.push(letter),
            other => text += &format!("Z{:X}z", u32::from(other)),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use quote::format_ident;

    use super::*;

    fn name(name: &str) -> String {
        field(&Member::Named(format_ident!("{name}")))
    }

    #[test]
    fn each_field_has_a_name_of_its_own() {
        let names = [
            "mass", "int", "int_", "_pad", "a__b", "a_ub", "größe", "grF6e", "ZF6z", "tw_int", "tw_Zupad",
            "Inner", "inner", "f32", "_0", "__", "Z", "ZZ",
        ];
        let cpp: std::collections::BTreeSet<_> = names.iter().map(|of| name(of)).collect();
        assert_eq!(cpp.len(), names.len(), "{cpp:?}");
        assert!(cpp.iter().all(|name| in_cpp(name) == *name), "{cpp:?}");
        assert_eq!(name("mass"), "mass");
        assert_eq!(name("int"), "tw_int");
        assert_eq!(field(&Member::Named(format_ident!("r#type"))), "type");
        assert_eq!(field(&Member::Unnamed(1.into())), "_1");
    }

    #[test]
    fn parts_are_found_by_both_languages() {
        let named = Named { item: 0, name: "P".to_owned(), parts: Vec::new() };
        let position = named.part(Part::Field(Member::Named(format_ident!("position"))));
        let first = position.part(Part::Element);
        assert_eq!(named.cpp(), "P");
        assert_eq!(first.cpp(), "tw::Element<decltype(P::position)>");
        assert_eq!(first.read(&quote!(of)).to_string(), quote!(of.position[0]).to_string());
    }
}
