//! The parts of which the Rust beside a function or a struct is written.

use std::str::FromStr;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprPath, ItemFn, Type};

use crate::groups::peel_expr;

/// The type has the function's name: types and functions have namespaces of their own, and `use` takes both.
pub(super) fn type_name(item: &ItemFn) -> Ident {
    let mut name = item.sig.ident.clone();
    name.set_span(name.span().resolved_at(Span::call_site()).located_at(name.span()));
    name
}

/// The attributes under which the item exists.
pub(super) fn conditions(item: &ItemFn) -> Vec<&Attribute> {
    item.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect()
}

/// The least of some lengths; without any, the greatest number.
pub(super) fn least(lengths: impl Iterator<Item = TokenStream>) -> TokenStream {
    let at = Span::mixed_site();
    lengths.fold(
        quote_spanned!(at=> ::core::primitive::usize::MAX),
        |least, length| quote_spanned!(at=> ::core::cmp::Ord::min(#least, #length)),
    )
}

/// Whether an expression is a name.
pub(super) fn is_name(expr: &Expr, name: &Ident) -> bool {
    matches!(peel_expr(expr), Expr::Path(path) if path.path.is_ident(name))
}

/// The lints that the function allows, which its twins do as well.
pub(super) fn allowed(item: &ItemFn) -> Vec<&Attribute> {
    item.attrs.iter().filter(|attribute| attribute.path().is_ident("allow")).collect()
}

/// The function without the attributes that only this macro knows.
pub(super) fn without_ours(item: &ItemFn) -> ItemFn {
    let mut item = item.clone();
    item.attrs.retain(|attribute| !attribute.path().is_ident("requires"));
    item
}

/// What defines constants in C++.
pub(super) fn definitions(private: &TokenStream, constants: &[(ExprPath, String)]) -> Vec<TokenStream> {
    let at = Span::mixed_site();
    let definition = |(path, name): &(ExprPath, String)| {
        // An error of the constant's type points at its name.
        let constant = quote_spanned!(path.span().resolved_at(at)=> &#path);
        quote_spanned!(at=> (#name, || #private::constant(#constant)))
    };
    constants.iter().map(definition).collect()
}

/// The types that rustc alone knows, under their names in C++.
pub(super) fn named(private: &TokenStream, types: &[(ExprPath, String)]) -> Vec<TokenStream> {
    let at = Span::mixed_site();
    let named = |(path, name): &(ExprPath, String)| {
        let ty = type_beside(path);
        // An error of the type points at its name.
        let source = quote_spanned!(path.span().resolved_at(at)=> <#ty as #private::KernelType>::TYPE);
        quote_spanned!(at=> (#name, #source))
    };
    types.iter().map(named).collect()
}

/// The type beside a `#[device]` function: the function's path is its path, too.
pub(super) fn type_beside(path: &ExprPath) -> Type {
    Type::Path(syn::TypePath { attrs: Vec::new(), qself: path.qself.clone(), path: path.path.clone() })
}

/// The text as a raw string, which stays readable where the code is shown.
pub(super) fn raw(text: &str) -> Literal {
    let hashes = "#".repeat(1 + text.matches("\"#").count());
    Literal::from_str(&format!("r{hashes}\"{text}\"{hashes}")).unwrap_or_else(|_| Literal::string(text))
}
