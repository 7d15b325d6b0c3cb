//! Literals.

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, Lit, LitInt, UnOp};

use super::{Lower, Lowered, Reported};
use crate::groups::peel_expr;
use crate::rust_kernels::ir::{self, Kind, Unary};
use crate::rust_kernels::types::{Literal, Number};

impl Lower<'_> {
    pub(super) fn literal_expr(&mut self, literal: &ExprLit) -> Lowered {
        let span = literal.span();
        let number = |suffix: &str| Number::named(suffix).filter(|number| !number.is_half());
        let (kind, ty) = match &literal.lit {
            Lit::Int(int) => {
                let digits = int.base10_digits();
                // In a pattern, the literal has its minus.
                if let Some(digits) = digits.strip_prefix('-') {
                    let positive = LitInt::new(&format!("{digits}{}", int.suffix()), int.span());
                    return Ok(self.negative(literal, &positive));
                }
                let value = value_of(int);
                match int.suffix() {
                    "" => (Kind::Integer(value), self.literal(&literal.lit, Literal::Integer)),
                    suffix => match number(suffix) {
                        Some(number) if number.is_float() => {
                            (Kind::Float(int.base10_digits().to_owned()), self.types.number(number))
                        }
                        Some(number) => (Kind::Integer(value), self.types.number(number)),
                        None => return Err(self.suffix(literal, suffix)),
                    },
                }
            }
            Lit::Float(float) => {
                let digits = Kind::Float(float.base10_digits().to_owned());
                match float.suffix() {
                    "" => (digits, self.literal(&literal.lit, Literal::Float)),
                    suffix => match number(suffix) {
                        Some(number) => (digits, self.types.number(number)),
                        None => return Err(self.suffix(literal, suffix)),
                    },
                }
            }
            Lit::Bool(bool) => (Kind::Bool(bool.value), self.types.bool()),
            Lit::Byte(byte) => (Kind::Integer(byte.value().into()), self.types.number(Number::U8)),
            Lit::Char(char) if char.value().is_ascii() => {
                let help = format!("write `b{}`, which is a `u8`", literal.to_token_stream());
                return Err(self.absent(literal, "a `char`", &help));
            }
            Lit::Char(_) => return Err(self.absent(literal, "a `char`", "use its number, a `u32`")),
            _ => return Err(self.absent(literal, "text", "use numbers, such as an array of `u8`")),
        };
        Ok(self.expr(kind, ty, span))
    }

    /// A literal of a pattern that has a minus.
    fn negative(&mut self, literal: &ExprLit, positive: &LitInt) -> ir::Expr {
        let span = literal.span();
        let ty = match Number::named(positive.suffix()) {
            Some(number) => self.types.number(number),
            None => self.literal(&literal.lit, Literal::Integer),
        };
        let value = self.expr(Kind::Integer(value_of(positive)), ty, span);
        self.expr(Kind::Unary(Unary::Negate, Box::new(value)), ty, span)
    }

    fn suffix(&mut self, literal: &ExprLit, suffix: &str) -> Reported {
        let help = "write `f32`, `f64` or an integer type of up to 64 bits";
        self.absent(literal, &format!("a number of the type `{suffix}`"), help)
    }
}

/// The number. One of more than 128 bits is rustc's to report.
fn value_of(literal: &LitInt) -> u128 {
    literal.base10_parse().unwrap_or_default()
}

/// A literal as it stands, perhaps with a minus.
pub(super) fn bare(expr: &Expr) -> Option<Kind> {
    match peel_expr(expr) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(int) if int.suffix().is_empty() => {
                // A literal without a suffix is signed in C++.
                let suffix = if value_of(int) > i64::MAX as u128 { "ull" } else { "" };
                Some(Kind::Bare(format!("{}{suffix}", int.base10_digits())))
            }
            Lit::Float(float) if float.suffix().is_empty() => {
                let digits = float.base10_digits();
                // The way of a decimal over a double to a float must not round twice.
                let (double, single): (f64, f32) = (digits.parse().ok()?, digits.parse().ok()?);
                (double as f32 == single).then(|| Kind::Bare(format!("{double:?}")))
            }
            _ => None,
        },
        Expr::Unary(syn::ExprUnary { op: UnOp::Neg(_), expr, .. }) => match bare(expr)? {
            Kind::Bare(digits) if digits == "9223372036854775808ull" => {
                Some(Kind::Bare("-9223372036854775807ll - 1".to_owned()))
            }
            Kind::Bare(digits) if !digits.starts_with('-') => Some(Kind::Bare(format!("-{digits}"))),
            _ => None,
        },
        _ => None,
    }
}

/// The kind of a literal without a type, perhaps with a minus.
pub(super) fn literal_kind(expr: &Expr) -> Option<Literal> {
    match peel_expr(expr) {
        Expr::Unary(syn::ExprUnary { op: UnOp::Neg(_), expr, .. }) => literal_kind(expr),
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(int) if int.suffix().is_empty() => Some(Literal::Integer),
            Lit::Float(float) if float.suffix().is_empty() => Some(Literal::Float),
            _ => None,
        },
        _ => None,
    }
}
