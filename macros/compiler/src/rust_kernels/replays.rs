//! Whether a launch fails again in the same way on what it has read.
//!
//! A kernel changes its own elements, so that what they held is gone when a thread has failed. That does not
//! matter where it decides nothing: where a value that comes from an own element goes to own elements alone, on
//! a way on which nothing can fail. `y[i] += a * x[i]` is such a way for floats. Everything else is taken for a
//! decision.

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprMethodCall, ItemFn, Local, Macro, Pat, PatIdent, Type, UnOp};

use super::signature::{ParameterKind, Signature};
use super::types::Number;
use crate::groups::{peel, peel_expr};

/// Whether the kernel changes its own elements alone, and what they hold decides nothing.
pub(super) fn replays(function: &ItemFn, signature: &Signature) -> bool {
    // What else a launch may change, in an order that no other run has, is not copied.
    let is_known = |kind: &ParameterKind| {
        use ParameterKind::{Block, Index, Out, Own, Slice, Value};
        matches!(kind, Index(..) | Block { .. } | Slice(_) | Own(_) | Out(_) | Value(_))
    };
    if !signature.parameters.iter().all(|parameter| is_known(&parameter.kind)) {
        return false;
    }
    let own = signature.parameters.iter().filter_map(|parameter| match &parameter.kind {
        ParameterKind::Own(element) => {
            Some(Own { name: parameter.name.clone(), floats: are_floats(element) })
        }
        _ => None,
    });
    let mut search = Search { own: own.collect(), decides: false };
    search.visit_block(&function.block);
    !search.decides
}

/// Whether elements are floats, or arrays of them.
fn are_floats(element: &Type) -> bool {
    match peel(element) {
        Type::Array(array) => are_floats(&array.elem),
        Type::Path(path) => {
            let name = path.path.get_ident().map(ToString::to_string).unwrap_or_default();
            Number::named(&name).is_some_and(Number::is_float)
        }
        _ => false,
    }
}

/// A name of own elements: a parameter's, or that of one element.
struct Own {
    name: Ident,
    floats: bool,
}

struct Search {
    own: Vec<Own>,
    decides: bool,
}

impl Search {
    /// The own elements that an expression names.
    fn named(&self, expr: &Expr) -> Option<&Own> {
        let Expr::Path(path) = peel_expr(expr) else { return None };
        let name = path.path.get_ident()?;
        self.own.iter().find(|own| own.name == *name)
    }

    /// The own elements of which an expression is a part: `*y`, `y[k]`, `(*y)[k]`.
    fn part<'e>(&self, expr: &'e Expr, indices: &mut Vec<&'e Expr>) -> Option<&Own> {
        match peel_expr(expr) {
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => self.part(&unary.expr, indices),
            Expr::Paren(paren) => self.part(&paren.expr, indices),
            Expr::Index(index) => {
                indices.push(&index.index);
                self.part(&index.expr, indices)
            }
            _ => self.named(expr),
        }
    }

    /// Visits a place that is written. The result is whether it is of own elements, and whether of floats.
    fn written(&mut self, place: &Expr) -> Option<bool> {
        let mut indices = Vec::new();
        let floats = self.part(place, &mut indices)?.floats;
        indices.into_iter().for_each(|index| self.visit_expr(index));
        Some(floats)
    }

    /// Visits a value that goes to own elements, which are floats.
    fn flows(&mut self, value: &Expr) {
        let mut indices = Vec::new();
        if self.part(value, &mut indices).is_some_and(|own| own.floats) {
            indices.into_iter().for_each(|index| self.visit_expr(index));
            return;
        }
        match value {
            Expr::Paren(paren) => self.flows(&paren.expr),
            Expr::Group(group) => self.flows(&group.expr),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => self.flows(&unary.expr),
            Expr::Binary(binary) if is_arithmetic(&binary.op) => {
                self.flows(&binary.left);
                self.flows(&binary.right);
            }
            Expr::MethodCall(call) if NEVER_FAIL.contains(&call.method.to_string().as_str()) => {
                self.flows(&call.receiver);
                call.args.iter().for_each(|argument| self.flows(argument));
            }
            _ => self.visit_expr(value),
        }
    }

    /// Notes the names of a pattern for elements, if that is what it gets.
    fn bound(&mut self, pattern: &Pat, value: &Expr) {
        let Expr::MethodCall(call) = peel_expr(value) else { return };
        let Some(of) = self.named(&call.receiver).filter(|_| call.method == "get_mut") else { return };
        let (floats, mut names) = (of.floats, Names(Vec::new()));
        names.visit_pat(pattern);
        self.own.extend(names.0.into_iter().map(|name| Own { name, floats }));
    }

    /// Whether the tokens of a macro name own elements.
    fn is_named_in(&self, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(name) => self.own.iter().any(|own| own.name == name),
            TokenTree::Group(group) => self.is_named_in(group.stream()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
}

/// The names in a pattern.
struct Names(Vec<Ident>);

impl<'ast> Visit<'ast> for Names {
    fn visit_pat_ident(&mut self, name: &'ast PatIdent) {
        self.0.push(name.ident.clone());
    }
}

/// Methods of floats that give a float, whatever it is.
const NEVER_FAIL: [&str; 8] = ["abs", "exp", "ln", "max", "min", "mul_add", "sqrt", "tanh"];

fn is_arithmetic(operator: &BinOp) -> bool {
    matches!(operator, BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Div(_) | BinOp::Rem(_))
}

fn is_assignment(operator: &BinOp) -> bool {
    use BinOp::{AddAssign, DivAssign, MulAssign, RemAssign, SubAssign};
    matches!(operator, AddAssign(_) | SubAssign(_) | MulAssign(_) | DivAssign(_) | RemAssign(_))
}

impl<'ast> Visit<'ast> for Search {
    fn visit_expr(&mut self, expr: &'ast Expr) {
        if self.named(expr).is_some() {
            self.decides = true;
            return;
        }
        match expr {
            Expr::Assign(assign) => match (peel_expr(&assign.left), self.written(&assign.left)) {
                (_, Some(true)) => self.flows(&assign.right),
                (_, Some(false)) => self.visit_expr(&assign.right),
                (Expr::Tuple(places), None) => {
                    for place in &places.elems {
                        if self.written(place).is_none() {
                            self.visit_expr(place);
                        }
                    }
                    self.visit_expr(&assign.right);
                }
                (_, None) => visit::visit_expr(self, expr),
            },
            Expr::Binary(binary) if is_assignment(&binary.op) => match self.written(&binary.left) {
                Some(true) => self.flows(&binary.right),
                _ => visit::visit_expr(self, expr),
            },
            Expr::Let(test) => {
                visit::visit_expr_let(self, test);
                self.bound(&test.pat, &test.expr);
            }
            Expr::Match(of) => {
                of.arms.iter().for_each(|arm| self.bound(&arm.pat, &of.expr));
                visit::visit_expr_match(self, of);
            }
            _ => visit::visit_expr(self, expr),
        }
    }

    fn visit_local(&mut self, local: &'ast Local) {
        visit::visit_local(self, local);
        if let Some(init) = &local.init {
            self.bound(&local.pat, &init.expr);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        const OF_PARAMETERS: [&str; 4] = ["get_mut", "put", "len", "is_empty"];
        if self.named(&call.receiver).is_some() && OF_PARAMETERS.contains(&call.method.to_string().as_str()) {
            call.args.iter().for_each(|argument| self.visit_expr(argument));
        } else {
            visit::visit_expr_method_call(self, call);
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.decides |= self.is_named_in(call.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::super::role::Role;
    use super::super::signature::signature;
    use super::*;

    /// Whether a kernel with this body replays. It has `x: &[f32]`, own floats `y` and integers `n`.
    fn holds(body: &str) -> bool {
        let text = format!(
            "fn k(i: Index, x: &[f32], y: &mut Own<[f32]>, n: &mut Own<[u32]>, p: &mut Own<[[f32; 2]]>) {{
                let Some(y) = y.get_mut(i) else {{ return }};
                let Some(n) = n.get_mut(i) else {{ return }};
                {body}
            }}"
        );
        let function: ItemFn = syn::parse_str(&text).expect("a function");
        let signature = signature(&function, Role::Kernel, &mut Vec::new()).expect("a kernel");
        replays(&function, &signature)
    }

    #[test]
    fn what_goes_to_own_elements_alone_decides_nothing() {
        for body in [
            "*y = x[i] + 1.0;",
            "*y += 2.0 * x[i];",
            "*y = x[i].mul_add(*y, -*y) / (*y + 3.0);",
            "if let Some(q) = p.get_mut(i) { q[1] = q[0].abs(); q[0] -= q[1]; }",
            "*n = x[i] as u32 + 1; assert!(x[i] > 0.0);",
            "(*y, *n) = (x[i], 1);",
        ] {
            assert!(holds(body), "{body}");
        }
    }

    #[test]
    fn everything_else_decides() {
        for body in [
            "if *y > 0.0 { panic!() }",
            "let z = *y; *y = z;",
            "*y = x[*n as usize];",
            "*n += 1;",
            "(*y, *n) = (1.0, *n + 1);",
            "*n = *n + 1;",
            "*y = (*n + 1) as f32;",
            "*y = (*y as u32 + 1) as f32;",
            "*y = y.clamp(0.0, 1.0);",
            "*y = x[i] + f(*y);",
            "assert!(*y > 0.0);",
            "match *n { 0 => *y = 1.0, _ => panic!() }",
            "if let Some(q) = p.get_mut(i) { while q[0] < 1.0 { q[0] += 1.0; } }",
            "match p.get_mut(i) { Some(r) => *y = x[r[0] as usize], None => {} }",
        ] {
            assert!(!holds(body), "{body}");
        }
    }
}
