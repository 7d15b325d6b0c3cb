//! The value of an expression that holds only literals.

use syn::{BinOp, Expr, ExprUnary, Lit, Type, UnOp};

use crate::groups::peel_expr;

/// The value, if `expr` is made of whole-number literals, parentheses, casts and arithmetic.
pub fn value(expr: &Expr) -> Option<u128> {
    match peel_expr(expr) {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Cast(cast) => value(&cast.expr).filter(|&value| fits(value, &cast.ty)),
        Expr::Binary(binary) => {
            let (a, b) = (value(&binary.left)?, value(&binary.right)?);
            match binary.op {
                BinOp::Add(_) => a.checked_add(b),
                BinOp::Sub(_) => a.checked_sub(b),
                BinOp::Mul(_) => a.checked_mul(b),
                BinOp::Div(_) => a.checked_div(b),
                BinOp::Rem(_) => a.checked_rem(b),
                BinOp::Shl(_) => a.checked_mul(1_u128.checked_shl(u32::try_from(b).ok()?)?),
                BinOp::Shr(_) => a.checked_shr(u32::try_from(b).ok()?),
                _ => None,
            }
        }
        _ => None,
    }
}

/// How far below 0 a constant is, if it is negative.
pub fn below_zero(expr: &Expr) -> Option<u128> {
    match peel_expr(expr) {
        // A cast to an unsigned type makes it another number.
        Expr::Cast(cast) => below_zero(&cast.expr).filter(|_| is_signed(&cast.ty)),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => value(expr).filter(|&value| value > 0),
        _ => None,
    }
}

fn is_signed(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path
            .path
            .get_ident()
            .is_some_and(|name| ["i32", "i64", "isize"].iter().any(|signed| name == signed)),
        _ => false,
    }
}

/// Whether a cast to `ty` keeps the value.
fn fits(value: u128, ty: &Type) -> bool {
    let bits = match ty {
        Type::Path(path) => path.path.get_ident().and_then(|name| {
            let name = name.to_string();
            let (signed, bits) =
                name.strip_prefix('i').map_or((0, name.strip_prefix('u')), |bits| (1, Some(bits)));
            // No device has pointers of fewer bits than 32.
            let bits = bits.map(|bits| if bits == "size" { Ok(32) } else { bits.parse::<u32>() })?.ok()?;
            bits.checked_sub(signed)
        }),
        _ => None,
    };
    bits.is_some_and(|bits| value.checked_shr(bits).unwrap_or(0) == 0)
}

/// Whether `expr` is made of literals, constants (by the convention of their names), casts and arithmetic.
pub fn is_constant(expr: &Expr) -> bool {
    match peel_expr(expr) {
        Expr::Lit(_) => true,
        Expr::Cast(cast) => is_constant(&cast.expr),
        Expr::Binary(binary) => is_constant(&binary.left) && is_constant(&binary.right),
        Expr::Path(path) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            last.arguments.is_none() && !name.chars().any(char::is_lowercase)
        }),
        _ => false,
    }
}

/// Whether a constant expression names constants.
pub fn names_constants(expr: &Expr) -> bool {
    match peel_expr(expr) {
        Expr::Path(_) => true,
        Expr::Cast(cast) => names_constants(&cast.expr),
        Expr::Binary(binary) => names_constants(&binary.left) || names_constants(&binary.right),
        _ => false,
    }
}

/// The extents of a grid or block: `n` has one, `(x, y)` has two.
pub fn extents(expr: &Expr) -> Vec<&Expr> {
    match peel_expr(expr) {
        Expr::Tuple(tuple) => tuple.elems.iter().collect(),
        other => vec![other],
    }
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn evaluates_literals_only() {
        let of = |text: &str| syn::parse_str(text).ok().and_then(|expr| value(&expr));
        assert_eq!(of("2048"), Some(2048));
        assert_eq!(of("(1 << 10) + 3 * 4 as u32"), Some(1036));
        assert_eq!(of("1 - 2"), None);
        assert_eq!((of("255 as u8"), of("127 as i8 as usize")), (Some(255), Some(127)));
        assert_eq!(
            (of("256 as u8"), of("128 as i8"), of("1 as f32"), of("1 as T")),
            (None, None, None, None)
        );
        assert_eq!(of("1 / 0"), None);
        assert_eq!(of("1 << 200"), None);
        assert_eq!(of("TILE * 2"), None);
        assert_eq!(of("0xffff_ffff_ffff_ffff_ffff_ffff_ffff_ffff_f"), None);
    }
}
