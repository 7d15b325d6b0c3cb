//! The types that the user writes.

use quote::ToTokens;
use syn::{BinOp, Expr, ExprLit, ExprPath, GenericArgument, Lit, PathArguments, Type, TypePath};

use super::atomics;
use super::named::{self, Assumed};
use super::types::{Length, Number, Shape, Ty, Types};
use crate::groups::peel;

/// A reader of types, which knows what a length is in C++.
pub(super) trait ReadsTypes {
    fn types(&mut self) -> &mut Types;

    /// The length of an array in C++; `None` if it is none of the language.
    fn length_of(&mut self, length: &Expr) -> Option<String>;

    /// Notes what the path of a type has to mean, as its name tells.
    fn note(&mut self, path: &TypePath, means: &dyn Fn(ExprPath) -> Assumed);

    /// The type of this name, which rustc alone knows.
    fn type_named(&mut self, path: &TypePath) -> Ty;

    /// A type of the language; `None` for every other one.
    fn type_of(&mut self, ty: &Type) -> Option<Ty> {
        Some(match ty {
            Type::Paren(paren) => self.type_of(&paren.elem)?,
            Type::Group(group) => self.type_of(&group.elem)?,
            Type::Infer(_) => self.types().fresh(),
            Type::Tuple(tuple) if tuple.elems.is_empty() => self.types().unit(),
            Type::Tuple(tuple) => {
                let parts = tuple.elems.iter().map(|part| self.type_of(part)).collect::<Option<Vec<_>>>()?;
                self.types().add(Shape::Tuple(parts))
            }
            Type::Array(array) => {
                let of = self.type_of(&array.elem)?;
                let length = Length(self.length_of(&array.len)?);
                self.types().add(Shape::Array(of, length))
            }
            Type::Reference(reference) => match peel(&reference.elem) {
                Type::Slice(slice) if reference.mutability.is_none() => {
                    let of = self.type_of(&slice.elem)?;
                    self.types().add(Shape::Slice(of))
                }
                Type::Slice(_) => return None,
                other => {
                    let to = self.type_of(other)?;
                    self.types().add(Shape::Ref(to, reference.mutability.is_some()))
                }
            },
            Type::Path(path) if named::half(path).is_some() => {
                let half = named::half(path)?;
                self.note(path, &|path| Assumed::Type(path, half));
                self.types().number(half)
            }
            Type::Path(path) if path.qself.is_none() => {
                let last = path.path.segments.last()?;
                let name = last.ident.to_string();
                let is_alone = path.path.segments.len() == 1;
                match (Number::named(&name), &last.arguments) {
                    (Some(number), PathArguments::None) if is_alone => {
                        self.note(path, &|path| Assumed::Type(path, number));
                        self.types().number(number)
                    }
                    (None, PathArguments::None) if name == "bool" && is_alone => {
                        self.note(path, &Assumed::Bool);
                        self.types().bool()
                    }
                    (None, arguments) if name == "Index" => {
                        let dimensions = dimensions(arguments)?;
                        self.note(path, &Assumed::Index);
                        self.types().add(Shape::Index(dimensions))
                    }
                    _ if named::is_name(path) => self.type_named(path),
                    (None, PathArguments::None) => {
                        let (name, number) = atomics::named(&name)?;
                        self.note(path, &|path| Assumed::Atomic(path, name));
                        self.types().add(Shape::Atomic(number))
                    }
                    _ => return None,
                }
            }
            _ => return None,
        })
    }
}

/// Tells whether types are of the language, without a function in which they are used.
#[derive(Default)]
pub(super) struct Alone(Types);

impl ReadsTypes for Alone {
    fn types(&mut self) -> &mut Types {
        &mut self.0
    }

    fn length_of(&mut self, length: &Expr) -> Option<String> {
        fn is_length(length: &Expr) -> bool {
            match length {
                Expr::Lit(ExprLit { lit: Lit::Int(_), .. }) | Expr::Path(_) => true,
                Expr::Paren(paren) => is_length(&paren.expr),
                Expr::Group(group) => is_length(&group.expr),
                Expr::Binary(binary) => {
                    matches!(binary.op, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_))
                        && is_length(&binary.left)
                        && is_length(&binary.right)
                }
                _ => false,
            }
        }
        is_length(length).then(String::new)
    }

    fn note(&mut self, _: &TypePath, _: &dyn Fn(ExprPath) -> Assumed) {}

    fn type_named(&mut self, _: &TypePath) -> Ty {
        self.0.foreign()
    }
}

/// The innermost part of a type that is not in the language.
pub(super) fn part_unknown(ty: &Type) -> Option<&Type> {
    if Alone::default().type_of(ty).is_some() {
        return None;
    }
    let inside = match ty {
        Type::Paren(paren) => part_unknown(&paren.elem),
        Type::Group(group) => part_unknown(&group.elem),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(part_unknown),
        Type::Array(array) => part_unknown(&array.elem),
        Type::Reference(reference) => match peel(&reference.elem) {
            Type::Slice(slice) => part_unknown(&slice.elem),
            other => part_unknown(other),
        },
        _ => None,
    };
    Some(inside.unwrap_or(ty))
}

/// The `D` of `Index<D>`: 1 to 3.
pub(super) fn dimensions(arguments: &PathArguments) -> Option<usize> {
    match arguments {
        PathArguments::None => Some(1),
        PathArguments::AngleBracketed(generics) => match (generics.args.first()?, generics.args.len()) {
            (GenericArgument::Const(number), 1) => {
                let number: usize = number.to_token_stream().to_string().parse().ok()?;
                (1..=3).contains(&number).then_some(number)
            }
            _ => None,
        },
        PathArguments::Parenthesized(_) => None,
    }
}
