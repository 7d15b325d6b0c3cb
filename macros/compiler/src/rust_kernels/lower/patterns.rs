//! Patterns: names, tuples and arrays of them, `Some(name)`, and what a `match` compares a value with.

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Pat, RangeLimits};

use super::{Lower, Lowered};
use crate::rust_kernels::ir::{Arm, LocalId, Pattern, Test, Variant};
use crate::rust_kernels::types::{Length, Shape, Ty};

const PATTERN: &str = "this pattern";

impl Lower<'_> {
    /// A pattern that always matches a value of this type.
    pub(super) fn pattern(&mut self, pattern: &Pat, ty: Ty) -> Lowered<Pattern> {
        match pattern {
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                Ok(Pattern::Name(self.declare(&name.ident, ty, name.mutability.is_some())))
            }
            Pat::Wild(_) => Ok(Pattern::Wild),
            Pat::Paren(paren) => self.pattern(&paren.pat, ty),
            Pat::Type(typed) => {
                let written = self.ty(&typed.ty)?;
                self.types.unify(written, ty);
                self.pattern(&typed.pat, written)
            }
            Pat::Tuple(tuple) => {
                let parts: Vec<_> = tuple.elems.iter().map(|_| self.types.fresh()).collect();
                let whole = self.types.add(Shape::Tuple(parts.clone()));
                self.types.unify(ty, whole);
                let parts = tuple.elems.iter().zip(parts).map(|(part, ty)| self.pattern(part, ty));
                Ok(Pattern::Tuple(parts.collect::<Lowered<_>>()?))
            }
            Pat::Struct(found) => self.struct_pattern(found, ty),
            Pat::TupleStruct(found) if !found.path.is_ident("Some") => self.tuple_struct_pattern(found, ty),
            Pat::Slice(slice) => {
                let of = self.types.fresh();
                let length = Length(slice.elems.len().to_string());
                let whole = self.types.add(Shape::Array(of, length));
                self.types.unify(ty, whole);
                let parts = slice.elems.iter().map(|part| self.pattern(part, of));
                Ok(Pattern::Array(parts.collect::<Lowered<_>>()?))
            }
            other => Err(self.absent(other, PATTERN, "bind a name, and take it apart afterwards")),
        }
    }

    /// `Some(name)` of an option of this type, `Ok(name)` or `Err(name)` of an atomic's exchange.
    pub(super) fn variant(&mut self, pattern: &Pat, ty: Ty) -> Lowered<(Variant, LocalId)> {
        let inside = match *self.types.shape(ty) {
            Shape::Option(inside) | Shape::Exchanged(inside) => inside,
            Shape::Reported => self.types.add(Shape::Reported),
            _ => self.types.foreign(),
        };
        match pattern {
            Pat::TupleStruct(found) if found.elems.len() == 1 => {
                let Some(variant) = variant(&found.path) else {
                    return Err(self.absent(pattern, PATTERN, "write `Some(name)`"));
                };
                let id = match &found.elems[0] {
                    Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {
                        self.declare(&name.ident, inside, name.mutability.is_some())
                    }
                    Pat::Wild(wild) => {
                        let name = syn::Ident::new("unused", wild.span());
                        let id = self.declare(&name, inside, false);
                        self.scope.pop();
                        id
                    }
                    other => {
                        let (what, help) = match variant {
                            Variant::Some => {
                                ("a pattern inside of `Some`", "write `Some(name)`, and then use `*name`")
                            }
                            Variant::Ok => {
                                ("a pattern inside of `Ok`", "write `Ok(name)`, and compare the name")
                            }
                            Variant::Err => {
                                ("a pattern inside of `Err`", "write `Err(name)`, and compare the name")
                            }
                        };
                        return Err(self.absent(other, what, help));
                    }
                };
                Ok((variant, id))
            }
            Pat::Paren(paren) => self.variant(&paren.pat, ty),
            Pat::Ident(name) if name.ident == "None" => {
                let help = "write `if let Some(_) = … {} else { … }`, or ask `is_some`";
                Err(self.absent(name, "the pattern `None`", help))
            }
            Pat::Lit(_) | Pat::Range(_) | Pat::Or(_) => {
                let help = "write `match x { 1..=5 | 9 => …, _ => … }`, or compare: `if x == 9 { … }`";
                Err(self.absent(pattern, "a `let` that compares with numbers", help))
            }
            other => Err(self.absent(other, PATTERN, "write `Some(name)`")),
        }
    }

    /// Declares the names of a pattern whose value had an error.
    pub(super) fn declare_unknown(&mut self, pattern: &Pat) {
        match pattern {
            Pat::Ident(name) => {
                let ty = self.types.add(Shape::Reported);
                self.declare(&name.ident, ty, true);
            }
            Pat::Type(typed) => self.declare_unknown(&typed.pat),
            Pat::Paren(paren) => self.declare_unknown(&paren.pat),
            Pat::Tuple(tuple) => tuple.elems.iter().for_each(|part| self.declare_unknown(part)),
            Pat::TupleStruct(some) => some.elems.iter().for_each(|part| self.declare_unknown(part)),
            Pat::Slice(slice) => slice.elems.iter().for_each(|part| self.declare_unknown(part)),
            Pat::Struct(found) => found.fields.iter().for_each(|field| self.declare_unknown(&field.pat)),
            _ => {}
        }
    }

    /// An arm of a `match` over a value of this type, and the type of its body.
    pub(super) fn arm(&mut self, arm: &syn::Arm, ty: Ty) -> Lowered<Arm> {
        let outside = self.scope.len();
        let lowered = self.arm_in_scope(arm, ty);
        self.scope.truncate(outside);
        lowered
    }

    fn arm_in_scope(&mut self, arm: &syn::Arm, ty: Ty) -> Lowered<Arm> {
        let (pattern, guard) = match &arm.pat {
            Pat::Guard(guarded) => (&*guarded.pat, Some(&guarded.guard)),
            pattern => (pattern, None),
        };
        let (name, test) = match pattern {
            Pat::Ident(name) if name.by_ref.is_none() && is_variable(&name.ident) => {
                let id = self.declare(&name.ident, ty, name.mutability.is_some());
                let test = match &name.subpat {
                    Some((_, pattern)) => self.test(pattern, ty)?,
                    None => Test::Always,
                };
                (Some(id), test)
            }
            pattern => (None, self.test(pattern, ty)?),
        };
        let guard = match guard {
            Some(guard) => {
                let guard = self.value(guard)?;
                let bool = self.types.bool();
                self.types.unify(guard.ty, bool);
                Some(guard)
            }
            None => None,
        };
        let body = self.value(&arm.body)?;
        Ok(Arm { test, name, guard, body })
    }

    fn test(&mut self, pattern: &Pat, ty: Ty) -> Lowered<Test> {
        match pattern {
            Pat::Wild(_) => Ok(Test::Always),
            Pat::TupleStruct(found) if found.path.is_ident("Some") => self.no_match_of_option(found),
            Pat::TupleStruct(found) if variant(&found.path).is_some() => {
                let help =
                    "match the call itself: `match x.compare_exchange(…) { Ok(was) => …, Err(now) => … }`";
                Err(self.absent(found, "this `match` of a `Result`", help))
            }
            Pat::Ident(found) if found.ident == "None" => self.no_match_of_option(found),
            Pat::Paren(paren) => self.test(&paren.pat, ty),
            Pat::Or(or) => {
                let cases = or.cases.iter().map(|case| self.test(case, ty));
                Ok(Test::Any(cases.collect::<Lowered<_>>()?))
            }
            Pat::Lit(literal) => {
                let value = self.literal_expr(literal)?;
                self.types.unify(value.ty, ty);
                Ok(Test::Equal(value))
            }
            Pat::Path(path) => {
                let value = self.path(path)?;
                self.types.unify(value.ty, ty);
                Ok(Test::Equal(value))
            }
            // A single name in capitals is a constant, as rustc resolves it.
            Pat::Ident(name) if name.subpat.is_none() && !is_variable(&name.ident) => {
                let path = syn::ExprPath { attrs: Vec::new(), qself: None, path: name.ident.clone().into() };
                let value = self.path(&path)?;
                self.types.unify(value.ty, ty);
                Ok(Test::Equal(value))
            }
            Pat::Range(range) => {
                let mut bound = |bound: &Option<Box<syn::Expr>>| match bound {
                    Some(bound) => {
                        let value = self.value(bound)?;
                        self.types.unify(value.ty, ty);
                        Ok(Some(value))
                    }
                    None => Ok(None),
                };
                let (from, to) = (bound(&range.start)?, bound(&range.end)?);
                Ok(Test::Within(from, to, matches!(range.limits, RangeLimits::Closed(_))))
            }
            other => Err(self.absent(other, PATTERN, "compare with numbers, or use `if`")),
        }
    }

    fn no_match_of_option(&mut self, at: impl ToTokens) -> Lowered<Test> {
        Err(self.absent(at, "a `match` of an `Option`", "write `if let Some(x) = … { … } else { … }`"))
    }
}

/// The variant of this name.
fn variant(path: &syn::Path) -> Option<Variant> {
    match path.segments.last()?.ident.to_string().as_str() {
        "Some" => Some(Variant::Some),
        "Ok" => Some(Variant::Ok),
        "Err" => Some(Variant::Err),
        _ => None,
    }
}

/// Whether a name in a pattern is a new variable, by Rust's convention for constants and variants.
fn is_variable(name: &syn::Ident) -> bool {
    !name.to_string().trim_start_matches('_').starts_with(char::is_uppercase)
}
