//! The value of an expression that holds only literals.

use syn::{BinOp, Expr, Lit};

/// The value, if `expr` is made of whole-number literals, parentheses, casts and arithmetic.
pub(super) fn value(expr: &Expr) -> Option<u128> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok(),
            _ => None,
        },
        Expr::Paren(paren) => value(&paren.expr),
        Expr::Group(group) => value(&group.expr),
        Expr::Cast(cast) => value(&cast.expr),
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

/// Whether `expr` is made of literals, constants (by the convention of their names), casts and arithmetic.
pub fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) => true,
        Expr::Paren(paren) => is_constant(&paren.expr),
        Expr::Group(group) => is_constant(&group.expr),
        Expr::Cast(cast) => is_constant(&cast.expr),
        Expr::Binary(binary) => is_constant(&binary.left) && is_constant(&binary.right),
        Expr::Path(path) => path.path.segments.last().is_some_and(|last| {
            let name = last.ident.to_string();
            last.arguments.is_none() && !name.chars().any(char::is_lowercase)
        }),
        _ => false,
    }
}

/// The extents of a grid or block, each with its expression: of `n` one, of `(x, y)` two.
pub(super) fn extents(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Tuple(tuple) => tuple.elems.iter().collect(),
        Expr::Paren(paren) => extents(&paren.expr),
        Expr::Group(group) => extents(&group.expr),
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
        assert_eq!(of("1 / 0"), None);
        assert_eq!(of("1 << 200"), None);
        assert_eq!(of("TILE * 2"), None);
        assert_eq!(of("0xffff_ffff_ffff_ffff_ffff_ffff_ffff_ffff_f"), None);
    }
}
