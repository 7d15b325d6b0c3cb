//! Whether runs that are given the same do the same: then, in graph mode, a run need not ask what it does.

use proc_macro2::{Ident, TokenStream};
use quote::quote_spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprMethodCall, Path, Stmt, Type};

use super::Context;
use super::names::hygienic;
use super::run::private;
use crate::resolve::{OperationKind, Program, Shape};

/// Methods of numbers. What else is called may be the user's, and depend on anything.
const METHODS: [&str; 23] = [
    "abs",
    "abs_diff",
    "ceil",
    "clamp",
    "div_ceil",
    "floor",
    "is_multiple_of",
    "is_power_of_two",
    "isqrt",
    "log2",
    "max",
    "min",
    "mul_add",
    "next_multiple_of",
    "next_power_of_two",
    "pow",
    "powi",
    "recip",
    "saturating_add",
    "saturating_mul",
    "saturating_sub",
    "sqrt",
    "trailing_zeros",
];

/// Types that have no behaviour of the user's, and at most 8 bytes.
const PRIMITIVES: [&str; 14] =
    ["bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];

/// Tells the call that it depends on the parameters and the arguments alone, if that is known.
pub(super) fn repeats(cx: &Context<'_>) -> Option<TokenStream> {
    let parameters: Vec<_> = known(cx.program)?;
    let (call, private, site) = (&cx.names.call, private(cx), hygienic());
    Some(quote_spanned!(site=> #call.repeats([#(#private::word(#parameters)),*]);))
}

/// The parameters, if the operations follow from them, from the chunk and from constants.
fn known(program: &Program) -> Option<Vec<&Ident>> {
    // What no graph can hold.
    let is_direct = |kind: &OperationKind| {
        matches!(kind, OperationKind::Call(_) | OperationKind::Host(_) | OperationKind::Then(_))
    };
    if program.operations.iter().any(|operation| is_direct(&operation.kind)) {
        return None;
    }
    let parameters = program.params.iter().map(|param| is_primitive(&param.ty).then_some(&param.name));
    let mut known = Known(true);
    program.expressions().into_iter().for_each(|expr| known.visit_expr(expr));
    let shapes = program.hosts.iter().map(|host| &host.shape);
    let shapes = shapes.chain(program.buffers.iter().map(|buffer| &buffer.shape));
    shapes.flat_map(Shape::exprs).for_each(|expr| known.visit_expr(expr));
    if known.0 { parameters.collect() } else { None }
}

fn is_primitive(ty: &Type) -> bool {
    match ty {
        Type::Path(path) if path.qself.is_none() => path.path.get_ident().is_some_and(names_a_primitive),
        _ => false,
    }
}

fn names_a_primitive(name: &Ident) -> bool {
    PRIMITIVES.iter().any(|primitive| name == primitive)
}

/// `blocks`, `size_of::<T>`, and what belongs to a number: `u32::from`.
fn is_known_function(path: &Path) -> bool {
    match path.segments.iter().collect::<Vec<_>>()[..] {
        [function] => function.ident == "blocks" || function.ident == "size_of",
        [ty, _] => names_a_primitive(&ty.ident),
        _ => false,
    }
}

/// Whether all expressions seen so far have the same value each time.
struct Known(bool);

impl<'ast> Visit<'ast> for Known {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        match expr {
            Expr::Array(_)
            | Expr::Binary(_)
            | Expr::Block(_)
            | Expr::Cast(_)
            | Expr::Field(_)
            | Expr::Group(_)
            | Expr::If(_)
            | Expr::Lit(_)
            | Expr::Paren(_)
            | Expr::Path(_)
            | Expr::Repeat(_)
            | Expr::Tuple(_)
            | Expr::Unary(_) => {
                visit::visit_expr(self, expr);
            }
            Expr::Call(ExprCall { func, args, .. }) => {
                self.0 &= matches!(&**func, Expr::Path(function) if is_known_function(&function.path));
                args.iter().for_each(|arg| self.visit_expr(arg));
            }
            Expr::MethodCall(ExprMethodCall { receiver, method, args, .. }) => {
                self.0 &= METHODS.iter().any(|known| method == known);
                self.visit_expr(receiver);
                args.iter().for_each(|arg| self.visit_expr(arg));
            }
            _ => self.0 = false,
        }
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        match stmt {
            Stmt::Expr(expr, _) => self.visit_expr(expr),
            _ => self.0 = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_known(expr: &str) -> bool {
        let mut known = Known(true);
        known.visit_expr(&syn::parse_str(expr).expect(expr));
        known.0
    }

    #[test]
    fn numbers_and_what_is_done_with_them_are_known() {
        for expr in [
            "1.5",
            "blocks(c.len, 256)",
            "(blocks(c.len / 4, 512).min(132), 1, 1)",
            "c.len as u32",
            "-alpha * (beta + f32::sqrt(N as f32))",
            "if c.index == 0 { 1 } else { TABLE }",
            "[0.0; 4]",
            "u32::from(flag)",
            "c.len * size_of::<f32>()",
            "!refine || c.start.is_multiple_of(u32::MAX as usize)",
        ] {
            assert!(is_known(expr), "{expr}");
        }
    }

    #[test]
    fn what_may_depend_on_anything_else_is_not() {
        for expr in [
            "next()",
            "clock::now()",
            "blocks(next(), 256)",
            "COUNTER.fetch_add(1, Relaxed)",
            "c.len.min(state.next())",
            "TABLE[c.index]",
            "random!()",
            "{ let x = 1; x }",
            "unsafe { SEED }",
            "(|| 1)()",
            "Shape { rows: 1 }",
            "mine::blocks(c.len, 256)",
            "if c.index == 0 { next() } else { 1 }",
            "if c.index == 0 { random!(); 1 } else { 1 }",
            "if c.index == 0 { let n = 1; n } else { 1 }",
        ] {
            assert!(!is_known(expr), "{expr}");
        }
    }

    #[test]
    fn only_numbers_are_compared() {
        let ty = |ty: &str| is_primitive(&syn::parse_str(ty).expect(ty));
        assert!(ty("f32") && ty("usize") && ty("bool"));
        assert!(!ty("Shape") && !ty("[f32; 2]") && !ty("u128") && !ty("Vec<f32>") && !ty("T") && !ty("&f32"));
    }
}
