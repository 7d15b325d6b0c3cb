//! `#[kernel(T in [f32, f64])]`, `#[kernel(N in [3, 5])]`: a kernel for each type and each number. Functions
//! (`#[device(T in [f32, f64])]`) have types alone.
//!
//! Numbers stand in a list, too, and are no `const N: usize` of any value: so each kernel is known when the macro
//! runs. Its C++ is written and its checks proved for the number, its shared arrays are counted, a test compiles
//! it, and a launch with another number is an error of rustc.

use std::str::FromStr;

use proc_macro2::{Group, Ident, Literal, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ItemFn;

use super::names;
use crate::text::text;

/// `T in [f32, f64]`, or `N in [3, 5]`
pub(super) struct Parameter {
    pub(super) name: Ident,
    pub(super) values: Values,
}

/// What a parameter stands for.
pub(super) enum Values {
    Types(Vec<TokenStream>),
    /// Of `usize`.
    Numbers(Vec<u64>),
}

/// What one parameter stands for.
#[derive(Clone)]
enum Value {
    Type(TokenStream),
    Number(u64),
}

/// What the parameters stand for, in their order.
#[derive(Clone)]
pub(super) struct Instance(Vec<(Ident, Value)>);

impl Instance {
    /// One for each combination; a kernel without parameters has one.
    pub(super) fn all(parameters: &[Parameter]) -> Vec<Self> {
        let mut all = vec![Self(Vec::new())];
        for Parameter { name, values } in parameters {
            let values: Vec<Value> = match values {
                Values::Types(types) => types.iter().cloned().map(Value::Type).collect(),
                Values::Numbers(numbers) => numbers.iter().copied().map(Value::Number).collect(),
            };
            let with = |instance: Self| {
                values.iter().map(move |value| {
                    let mut more = instance.clone();
                    more.0.push((name.clone(), value.clone()));
                    more
                })
            };
            all = all.into_iter().flat_map(with).collect();
        }
        all
    }

    /// Whether the kernel has no parameters.
    pub(super) fn is_the_only_one(&self) -> bool {
        self.0.is_empty()
    }

    /// What launches write between `<` and `>`.
    pub(super) fn arguments(&self) -> Vec<TokenStream> {
        let arguments = self.0.iter().map(|(_, value)| match value {
            Value::Type(ty) => ty.clone(),
            Value::Number(number) => Literal::u64_unsuffixed(*number).into_token_stream(),
        });
        arguments.collect()
    }

    /// `dot::<f32>`, as launches name it.
    pub(super) fn named(&self, kernel: &str) -> String {
        if self.is_the_only_one() {
            return kernel.to_owned();
        }
        let arguments: Vec<_> = self.arguments().iter().map(text).collect();
        format!("{kernel}::<{}>", arguments.join(", "))
    }

    /// `dot_f32`, the name in C++.
    pub(super) fn in_cpp(&self, kernel: &str) -> String {
        let parts = self.arguments().into_iter().map(|argument| text(&argument));
        let all: Vec<_> = std::iter::once(kernel.to_owned()).chain(parts).collect();
        names::symbol(&all.join("_"))
    }

    /// The function with what they stand for in place of the parameters.
    pub(super) fn of(&self, function: &ItemFn) -> syn::Result<ItemFn> {
        if self.is_the_only_one() {
            return Ok(function.clone());
        }
        syn::parse2(self.put_in(function.to_token_stream()))
    }

    fn put_in(&self, tokens: TokenStream) -> TokenStream {
        // A name behind one dot is a part of something, and behind two it is the end of a range. With colons it is
        // the other way round: `x: T`, but `Shape::N`.
        let (mut dots, mut colons) = (0_usize, 0_usize);
        let tokens = tokens.into_iter().map(|token| {
            let is = |mark: char| matches!(&token, TokenTree::Punct(found) if found.as_char() == mark);
            let is_part = dots == 1 || colons == 2;
            dots = if is('.') { dots + 1 } else { 0 };
            colons = if is(':') { colons + 1 } else { 0 };
            match &token {
                TokenTree::Ident(name) if !is_part => match self.0.iter().find(|(known, _)| known == name) {
                    // The user's mark, so that errors point at it.
                    Some((_, Value::Type(ty))) => spanned(ty.clone(), name),
                    Some((_, Value::Number(number))) => {
                        // As a `usize` it gives other numbers their type.
                        match Literal::from_str(&format!("{number}usize")) {
                            Ok(number) => spanned(number.into_token_stream(), name),
                            Err(_) => token.into(),
                        }
                    }
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
