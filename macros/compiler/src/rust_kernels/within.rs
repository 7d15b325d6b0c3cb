//! Up to which index along x the host runs a kernel's threads in one fast loop.

use std::collections::HashSet;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{ItemFn, Local};

use super::parts::least;
use super::signature::{ParameterKind, Signature};
use super::words::Words;

/// Up to which index along x a thread has its elements, and with one axis also the elements of that index in
/// slices: where most kernels read. Whoever loops so far has checked what these kernels check.
pub(super) fn within(item: &ItemFn, signature: &Signature) -> TokenStream {
    let at = Span::mixed_site();
    let names = Following::of(item, signature);
    let lengths = signature.parameters.iter().filter_map(|parameter| {
        let name = &parameter.name;
        match &parameter.kind {
            ParameterKind::Own(_) | ParameterKind::Out(_) => Some(quote_spanned!(at=> (&#name).along_x())),
            ParameterKind::Slice(_)
                if signature.dimensions == 1 && !names.is_read_elsewhere(item, &name.to_string()) =>
            {
                Some(quote_spanned!(at=> #name.len()))
            }
            _ => None,
        }
    });
    least(lengths)
}

/// The names of numbers that grow with the index.
struct Following(HashSet<String>);

impl Following {
    fn of(item: &ItemFn, signature: &Signature) -> Self {
        let index = signature.parameters.iter().filter(|of| matches!(of.kind, ParameterKind::Index(_)));
        let mut names = Self(index.map(|parameter| parameter.name.unraw().to_string()).collect());
        names.visit_block(&item.block);
        names
    }

    /// Whether a number is one: it is made of one, and neither what is left of it nor what a slice has there.
    fn has(&self, number: TokenStream) -> bool {
        let tokens: Vec<_> = number.into_iter().collect();
        let is_rest =
            |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if "%/&>".contains(mark.as_char()));
        !tokens.iter().any(is_rest)
            && tokens.iter().enumerate().any(|(place, token)| match token {
                TokenTree::Ident(name) => self.0.contains(&name.unraw().to_string()),
                TokenTree::Group(group) => {
                    let before = place.checked_sub(1).map(|before| tokens[before].to_string());
                    let is_read = group.delimiter() == Delimiter::Bracket || before.as_deref() == Some("get");
                    (!is_read || before.is_none()) && self.has(group.stream())
                }
                _ => false,
            })
    }

    /// Whether a slice is indexed, but by no number that grows with the index: it may be a table of a few elements,
    /// and end where the data do not.
    fn is_read_elsewhere(&self, item: &ItemFn, slice: &str) -> bool {
        let mut places = Vec::new();
        indices_of(slice, item.block.to_token_stream(), &mut places);
        !places.is_empty() && !places.into_iter().any(|place| self.has(place))
    }
}

impl<'a> Visit<'a> for Following {
    fn visit_local(&mut self, local: &'a Local) {
        if let Some(init) = &local.init
            && self.has(init.expr.to_token_stream())
        {
            self.0.extend(Words::of(local.pat.to_token_stream()).names);
        }
        visit::visit_local(self, local);
    }
}

/// What stands in `slice[…]` and in `slice.get(…)`.
fn indices_of(slice: &str, code: TokenStream, found: &mut Vec<TokenStream>) {
    let tokens: Vec<_> = code.into_iter().collect();
    for (place, token) in tokens.iter().enumerate() {
        match (token, &tokens[place + 1..]) {
            (TokenTree::Ident(name), [TokenTree::Group(at), ..])
                if name == slice && at.delimiter() == Delimiter::Bracket =>
            {
                found.push(at.stream());
            }
            (
                TokenTree::Ident(name),
                [TokenTree::Punct(dot), TokenTree::Ident(get), TokenTree::Group(at), ..],
            ) if name == slice && dot.as_char() == '.' && get == "get" => {
                found.push(at.stream());
            }
            _ => {}
        }
        if let TokenTree::Group(group) = token {
            indices_of(slice, group.stream(), found);
        }
    }
}
