//! Elements that must be plain data. The macros know only their names.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Type};

use super::is_primitive;
use super::names::placed;

/// The types among `elements` that may not be plain data, each once.
pub(crate) struct Elements<'a> {
    types: Vec<&'a Type>,
    private: TokenStream,
}

impl<'a> Elements<'a> {
    pub(crate) fn new(elements: impl IntoIterator<Item = &'a Type>, private: TokenStream) -> Self {
        let mut types: Vec<&Type> = Vec::new();
        for element in elements {
            let text = |ty: &Type| ty.to_token_stream().to_string();
            if !is_plain(element) && !types.iter().any(|known| text(known) == text(element)) {
                types.push(element);
            }
        }
        Self { types, private }
    }

    /// Checks at which rustc says what to write. They go before the code that uses the elements, since rustc
    /// checks items in order.
    pub(crate) fn checks(&self, attributes: &[&Attribute]) -> TokenStream {
        let check = |ty: &&Type| {
            let at = at(ty);
            let private = placed(&self.private, at);
            let elements = if is_f16(ty) { "HalfElements" } else { "PlainElements" };
            let elements = Ident::new(elements, at);
            quote_spanned! {at=>
                #(#attributes)*
                const _: ::core::marker::PhantomData<#private::#elements<#ty>> = ::core::marker::PhantomData;
            }
        };
        self.types.iter().map(check).collect()
    }

    /// Bounds under which rustc takes the elements for plain data, for an `impl` without parameters.
    pub(crate) fn bounds(&self) -> Option<TokenStream> {
        let bound = |ty: &&Type| {
            let at = at(ty);
            let private = placed(&self.private, at);
            quote_spanned!(at=> for<'a> #ty: #private::PlainData<'a>)
        };
        let bounds: Vec<_> = self.types.iter().map(bound).collect();
        (!bounds.is_empty()).then(|| quote_spanned!(Span::mixed_site()=> where #(#bounds),*))
    }

    /// Allows bounds without a parameter, which deserve rustc's warning elsewhere.
    pub(crate) fn allow(&self) -> Option<TokenStream> {
        (!self.types.is_empty()).then(|| {
            quote_spanned! {Span::mixed_site()=>
                #[allow(trivial_bounds, reason = "an element that is no plain data is one error")]
            }
        })
    }
}

/// A number, or an array of them.
fn is_plain(ty: &Type) -> bool {
    match ty {
        Type::Array(array) => is_plain(&array.elem),
        Type::Group(group) => is_plain(&group.elem),
        _ => is_primitive(ty),
    }
}

/// `f16`, which is rustc's own type unless another one is imported.
fn is_f16(ty: &Type) -> bool {
    match ty {
        Type::Array(array) => is_f16(&array.elem),
        Type::Group(group) => is_f16(&group.elem),
        Type::Path(path) => path.qself.is_none() && path.path.is_ident("f16"),
        _ => false,
    }
}

fn at(ty: &Type) -> Span {
    Span::mixed_site().located_at(ty.span())
}
