//! The type of a kernel, which pipelines hold and launches name.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::ItemFn;

use super::attribute::Arguments;
use super::instances::{Parameter, Values};
use super::parts::{conditions, type_name};
use crate::codegen::launches::private;

/// The struct. That of a kernel for several types or numbers has a parameter for each list.
pub(super) fn definition(arguments: &Arguments, item: &ItemFn) -> TokenStream {
    let (private, name, vis) = (private(arguments.krate.as_ref()), type_name(item), &item.vis);
    let conditions = conditions(item);
    let docs = item.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
    let generics = declared(arguments);
    let types = types(arguments);
    let of = (!types.is_empty())
        .then(|| quote_spanned!(Span::mixed_site()=> of: ::core::marker::PhantomData<(#(#types,)*)>,));
    quote_spanned! {Span::mixed_site()=>
        #(#conditions)*
        #(#docs)*
        #[allow(missing_docs, reason = "rustc misses them at the function")]
        #[derive(::core::clone::Clone, ::core::fmt::Debug)]
        #vis struct #name #generics {
            function: #private::Its<Self, #private::Function>,
            #of
        }
    }
}

/// A value of the type, of the local `function`.
pub(super) fn made(arguments: &Arguments) -> TokenStream {
    let private = private(arguments.krate.as_ref());
    let of = (!types(arguments).is_empty())
        .then(|| quote_spanned!(Span::mixed_site()=> of: ::core::marker::PhantomData,));
    quote_spanned!(Span::mixed_site()=> Self { function: #private::Its::new(function), #of })
}

/// `<T, const N: usize>`, or nothing.
pub(super) fn declared(arguments: &Arguments) -> TokenStream {
    generics(arguments.parameters.iter().map(|Parameter { name, values }| match values {
        Values::Types(_) => name.to_token_stream(),
        Values::Numbers(_) => quote_spanned!(Span::mixed_site()=> const #name: ::core::primitive::usize),
    }))
}

/// `<T, N>`, or nothing.
pub(super) fn parameters(arguments: &Arguments) -> TokenStream {
    generics(arguments.parameters.iter().map(|parameter| &parameter.name))
}

/// What stands between `<` and `>`, with these, or nothing.
pub(super) fn generics<T: ToTokens>(of: impl Iterator<Item = T>) -> TokenStream {
    let of: Vec<_> = of.collect();
    match of.is_empty() {
        true => TokenStream::new(),
        false => quote_spanned!(Span::mixed_site()=> <#(#of),*>),
    }
}

/// The names of the parameters that stand for types.
fn types(arguments: &Arguments) -> Vec<&Ident> {
    let types = arguments.parameters.iter().filter(|parameter| matches!(parameter.values, Values::Types(_)));
    types.map(|parameter| &parameter.name).collect()
}
