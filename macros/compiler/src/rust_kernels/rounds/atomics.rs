//! Whether phases with atomics show in which order threads take their turns.
//!
//! Any order is one that a GPU may have. But a thread may wait for another one, which comes only after all turns of
//! the first: so nothing but additions and their like is done in rounds, outside of loops that may wait.

use std::collections::HashSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{ExprForLoop, ExprLet, ExprMatch, ItemFn, Local, Pat};

use super::super::signature::{ParameterKind, Signature};
use super::super::words::Words;

/// The names by which a kernel has atomics.
pub(super) struct Atomics(HashSet<String>);

impl<'a> Visit<'a> for Atomics {
    fn visit_expr_for_loop(&mut self, looped: &'a ExprForLoop) {
        self.note(looped.expr.to_token_stream(), &looped.pat);
        visit::visit_expr_for_loop(self, looped);
    }

    fn visit_expr_let(&mut self, condition: &'a ExprLet) {
        self.note(condition.expr.to_token_stream(), &condition.pat);
        visit::visit_expr_let(self, condition);
    }

    fn visit_expr_match(&mut self, choice: &'a ExprMatch) {
        for arm in &choice.arms {
            self.note(choice.expr.to_token_stream(), &arm.pat);
        }
        visit::visit_expr_match(self, choice);
    }

    fn visit_local(&mut self, local: &'a Local) {
        self.note(local.to_token_stream(), &local.pat);
        visit::visit_local(self, local);
    }
}

impl Atomics {
    /// Those that threads of other blocks have, too, by the parameters' own names.
    pub(super) fn of_parameters(signature: &Signature) -> Self {
        let atomics = signature.parameters.iter().filter(|of| matches!(of.kind, ParameterKind::Atomics(_)));
        Self(atomics.map(|parameter| parameter.name.unraw().to_string()).collect())
    }

    pub(super) fn of(item: &ItemFn, signature: &Signature) -> Self {
        let mut atomics = Self::of_parameters(signature);
        atomics.visit_block(&item.block);
        atomics
    }

    /// Notes the names that a pattern gives to what comes from there, if it may be atomics.
    fn note(&mut self, from: TokenStream, pattern: &Pat) {
        let is_named = Words::of(from.clone()).names.iter().any(|name| name.starts_with("Atomic"));
        // What an addition gives is a number.
        if is_named || !self.are_only_changed(from) {
            let names = Words::of(pattern.to_token_stream()).names;
            self.0.extend(names.into_iter().filter(|name| name != "mut" && name != "ref"));
        }
    }

    /// Whether a phase does more with atomics than `x[i].fetch_add(by, order)` and its like.
    pub(super) fn show_the_order(&self, phase: TokenStream) -> bool {
        let names = Words::of(phase.clone()).names;
        let waits = names.iter().any(|name| name == "while");
        names.iter().any(|name| self.0.contains(name)) && (waits || !self.are_only_changed(phase))
    }

    /// Whether code does nothing with atomics but `x[i].fetch_add(by, order);` and its like, as statements: nothing
    /// depends on what they give.
    pub(super) fn are_only_added_to(&self, code: TokenStream) -> bool {
        let tokens: Vec<_> = code.into_iter().collect();
        let ends = |token: &TokenTree| match token {
            TokenTree::Punct(mark) => mark.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        tokens.iter().enumerate().all(|(place, token)| match token {
            TokenTree::Ident(name) if self.0.contains(&name.unraw().to_string()) => {
                let begins = place.checked_sub(1).is_none_or(|before| ends(&tokens[before]));
                let TokenTree::Punct(semicolon) = tokens.get(place + 5).unwrap_or(token) else {
                    return false;
                };
                begins
                    && semicolon.as_char() == ';'
                    && self.are_only_changed(tokens[place..place + 5].iter().cloned().collect())
            }
            TokenTree::Group(group) => self.are_only_added_to(group.stream()),
            _ => true,
        })
    }

    fn are_only_changed(&self, tokens: TokenStream) -> bool {
        let tokens: Vec<_> = tokens.into_iter().collect();
        tokens.iter().enumerate().all(|(place, token)| match token {
            TokenTree::Ident(name) if self.0.contains(&name.unraw().to_string()) => {
                match &tokens[place + 1..] {
                    [TokenTree::Group(at), TokenTree::Punct(dot), TokenTree::Ident(method), ..] => {
                        at.delimiter() == Delimiter::Bracket
                            && dot.as_char() == '.'
                            && method.to_string().starts_with("fetch_")
                    }
                    _ => false,
                }
            }
            TokenTree::Group(group) => self.are_only_changed(group.stream()),
            _ => true,
        })
    }
}
