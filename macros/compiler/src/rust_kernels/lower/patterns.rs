//! Patterns: names, tuples and arrays of them, `Some(name)`, and what a `match` compares a value with.

use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Pat, RangeLimits, Token};

use super::context::Meaning;
use super::{Lower, Lowered};
use crate::rust_kernels::ir::{Arm, LocalId, Pattern, Test, Variant};
use crate::rust_kernels::named::Assumed;
use crate::rust_kernels::types::{Length, Shape, Ty};
use crate::text::text;

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
                self.no_rest(pattern, &tuple.elems, ("(", ")"), ty)?;
                let parts: Vec<_> = tuple.elems.iter().map(|_| self.types.fresh()).collect();
                let whole = self.types.add(Shape::Tuple(parts.clone()));
                self.types.unify(ty, whole);
                let parts = tuple.elems.iter().zip(parts).map(|(part, ty)| self.pattern(part, ty));
                Ok(Pattern::Tuple(parts.collect::<Lowered<_>>()?))
            }
            Pat::Struct(found) => self.struct_pattern(found, ty),
            Pat::TupleStruct(found) if !found.path.is_ident("Some") => self.tuple_struct_pattern(found, ty),
            Pat::Slice(slice) => {
                self.no_rest(pattern, &slice.elems, ("[", "]"), ty)?;
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

    /// Refuses `..` between the parts of an array or a tuple.
    fn no_rest(
        &mut self,
        pattern: &Pat,
        parts: &Punctuated<Pat, Token![,]>,
        (open, close): (&str, &str),
        ty: Ty,
    ) -> Lowered<()> {
        let is_rest = |part: &&Pat| matches!(part, Pat::Rest(_));
        let Some(rest) = parts.iter().find(is_rest) else { return Ok(()) };
        let count = match self.types.shape(ty) {
            Shape::Array(_, Length(length)) => length.parse::<usize>().ok(),
            Shape::Tuple(parts) => Some(parts.len()),
            _ => None,
        };
        let left_out = count.and_then(|count| (count + 1).checked_sub(parts.len()));
        let help = match left_out {
            // A longer one is no help.
            Some(left_out) if left_out <= 12 => {
                let written = parts.iter().flat_map(|part| match part {
                    Pat::Rest(_) => vec!["_".to_owned(); left_out],
                    part => vec![text(part)],
                });
                format!("write `_` for each: `{open}{}{close}`", written.collect::<Vec<_>>().join(", "))
            }
            _ if matches!(pattern, Pat::Slice(_)) => {
                "take the elements by their indices: `let a = x[0];`".to_owned()
            }
            _ => "write `_` for each part that is left out".to_owned(),
        };
        Err(self.absent(rest, "`..` in a pattern of parts", &help))
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
                        self.is_new(&name.ident)?;
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
                self.is_new(&name.ident)?;
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

    /// Sees to it that a name in a pattern that need not match is a new variable: that of a constant is compared with.
    fn is_new(&mut self, name: &syn::Ident) -> Lowered<()> {
        let is_constant = match self.meaning(name) {
            Some(Meaning::Item(_)) => true,
            Some(Meaning::Local(local)) => self.constant_locals.contains(local),
            None => false,
        };
        if is_constant {
            let what = "a variable with the name of a constant or an import";
            return Err(self.absent(name, what, "give the variable another name"));
        }
        self.assume(Assumed::Variable(name.clone()));
        Ok(())
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
                if self.find(&name.ident).is_some_and(|local| !self.constant_locals.contains(&local)) {
                    let what = "a pattern with the name of a variable";
                    let help = "write new variables small, and compare with the variable by `if`";
                    return Err(self.absent(name, what, help));
                }
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
