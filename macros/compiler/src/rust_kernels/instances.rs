//! `#[kernel(T in [f32, f64])]`: a kernel for each type.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{ItemFn, Type};

use super::names;
use crate::text::text;

/// `T in [f32, f64]`
pub(super) struct Parameter {
    pub(super) name: Ident,
    pub(super) types: Vec<Type>,
}

/// The types that the parameters stand for, in their order.
#[derive(Clone)]
pub(super) struct Instance(pub(super) Vec<(Ident, Type)>);

impl Instance {
    /// One for each combination of types; a kernel without parameters has one.
    pub(super) fn all(parameters: &[Parameter]) -> Vec<Self> {
        let mut all = vec![Self(Vec::new())];
        for Parameter { name, types } in parameters {
            let with = |instance: Self| {
                types.iter().map(move |ty| {
                    let mut more = instance.clone();
                    more.0.push((name.clone(), ty.clone()));
                    more
                })
            };
            all = all.into_iter().flat_map(with).collect();
        }
        all
    }

    /// `dot::<f32>`, as launches name it.
    pub(super) fn named(&self, kernel: &str) -> String {
        if self.0.is_empty() {
            return kernel.to_owned();
        }
        let types: Vec<_> = self.0.iter().map(|(_, ty)| text(ty)).collect();
        format!("{kernel}::<{}>", types.join(", "))
    }

    /// `dot_f32`, the name in C++.
    pub(super) fn in_cpp(&self, kernel: &str) -> String {
        let parts = self.0.iter().map(|(_, ty)| text(ty));
        let all: Vec<_> = std::iter::once(kernel.to_owned()).chain(parts).collect();
        names::in_cpp(&all.join("_"))
    }

    /// The function with the types in place of the parameters.
    pub(super) fn of(&self, function: &ItemFn) -> syn::Result<ItemFn> {
        if self.0.is_empty() {
            return Ok(function.clone());
        }
        syn::parse2(self.put_in(function.to_token_stream()))
    }

    fn put_in(&self, tokens: TokenStream) -> TokenStream {
        let mut after_dot = false;
        let tokens = tokens.into_iter().map(|token| {
            let is_part = std::mem::replace(
                &mut after_dot,
                matches!(&token, TokenTree::Punct(dot) if dot.as_char() == '.'),
            );
            match &token {
                TokenTree::Ident(name) if !is_part => match self.0.iter().find(|(known, _)| known == name) {
                    // The user's mark, so that errors point at it.
                    Some((_, ty)) => spanned(ty.to_token_stream(), name),
                    None => token.into(),
                },
                TokenTree::Group(group) => {
                    let mut inside = Group::new(group.delimiter(), self.put_in(group.stream()));
                    inside.set_span(group.span());
                    TokenTree::Group(inside).into()
                }
                _ => token.into(),
            }
        });
        tokens.collect()
    }
}

fn spanned(ty: TokenStream, at: &Ident) -> TokenStream {
    let tokens = ty.into_iter().map(|mut token| {
        token.set_span(at.span());
        token
    });
    tokens.collect()
}
