//! Invisible groups: an expression that a `macro_rules` has matched stays one expression.
//!
//! `3 * $e` with `1 + 1` for `$e` reaches the macros as `3 * «1 + 1»`. rustc forgets such a group when it
//! reads what a procedural macro has written, so it gets parentheses here.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprParen, Macro, Type, token};

/// The expression with parentheses for the invisible groups in it. One around all of it is harmless and
/// stays.
pub(crate) fn kept(mut expr: Expr) -> Expr {
    match &mut expr {
        Expr::Group(whole) => visit_mut::visit_expr_mut(&mut Keep, &mut whole.expr),
        other => visit_mut::visit_expr_mut(&mut Keep, other),
    }
    expr
}

/// The same in all of a block.
pub(crate) fn keep_in_block(block: &mut Block) {
    Keep.visit_block_mut(block);
}

/// The type without the invisible groups of `macro_rules` and parentheses around it.
pub(crate) fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peel(&group.elem),
        Type::Paren(paren) => peel(&paren.elem),
        other => other,
    }
}

/// The expression without them.
pub(crate) fn peel_expr(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => peel_expr(&group.expr),
        Expr::Paren(paren) => peel_expr(&paren.expr),
        other => other,
    }
}

struct Keep;

impl VisitMut for Keep {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let Expr::Group(group) = expr else { return };
        let inner = std::mem::replace(&mut *group.expr, Expr::PLACEHOLDER);
        *expr = if holds_together(&inner) {
            inner
        } else {
            Expr::Paren(ExprParen {
                attrs: Vec::new(),
                paren_token: token::Paren(generated(group.group_token.span)),
                expr: Box::new(inner),
            })
        };
    }

    /// Only where the tokens can be nothing but an expression, since it is unknown what the other macro makes
    /// of them.
    fn visit_macro_mut(&mut self, call: &mut Macro) {
        call.tokens = kept_tokens(std::mem::take(&mut call.tokens));
    }
}

/// Whether what stands before or after an expression cannot take it apart.
fn holds_together(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Path(_)
            | Expr::Lit(_)
            | Expr::Call(_)
            | Expr::MethodCall(_)
            | Expr::Field(_)
            | Expr::Index(_)
            | Expr::Paren(_)
            | Expr::Tuple(_)
            | Expr::Array(_)
            | Expr::Repeat(_)
            | Expr::Macro(_)
    )
}

fn kept_tokens(tokens: TokenStream) -> TokenStream {
    let kept = |token| {
        let TokenTree::Group(group) = token else { return token };
        let inner = kept_tokens(group.stream());
        let splits = group.delimiter() == Delimiter::None
            && matches!(syn::parse2(inner.clone()), Ok(Expr::Binary(_) | Expr::Cast(_)));
        let delimiter = if splits { Delimiter::Parenthesis } else { group.delimiter() };
        let mut new = Group::new(delimiter, inner);
        new.set_span(if splits { generated(group.span()) } else { group.span() });
        TokenTree::Group(new)
    };
    tokens.into_iter().map(kept).collect()
}

/// A span at which rustc does not call the parentheses unnecessary.
fn generated(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

#[cfg(test)]
mod tests {
    use proc_macro2::{Delimiter, Group, TokenStream};
    use quote::{ToTokens, quote};

    fn kept(tokens: TokenStream) -> String {
        super::kept(syn::parse2(tokens).unwrap()).to_token_stream().to_string()
    }

    #[test]
    fn groups_become_parentheses() {
        let sum = Group::new(Delimiter::None, quote!(1 + 1));
        let negative = Group::new(Delimiter::None, quote!(-1));
        let name = Group::new(Delimiter::None, quote!(n));
        assert_eq!(kept(quote!(3 * #sum)), "3 * (1 + 1)");
        assert_eq!(kept(quote!(#negative.pow(2))), "(- 1) . pow (2)");
        assert_eq!(kept(quote!({ let a = #sum as u8; #name * a })), "{ let a = (1 + 1) as u8 ; n * a }");
        assert_eq!(kept(quote!(max!(3 * #sum, #name))), "max ! (3 * (1 + 1) , n)");
    }
}
