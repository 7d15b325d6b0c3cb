//! The shared memory that a kernel in blocks declares.

use proc_macro2::{Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{ItemFn, Type};

use super::atomics;
use super::ir::{Function, SharedArray};
use super::named::{self, Held};
use super::parts::{conditions, type_beside};
use super::written::{Alone, ReadsTypes};
use crate::groups::peel;

/// The assertion that a block's shared memory has room for the kernel's arrays, and for what its reductions and scans
/// need beside them.
pub(super) fn fits(item: &ItemFn, body: &Function, kernel: &str, private: &TokenStream) -> TokenStream {
    let arrays = &body.shared;
    let [first, ..] = &arrays[..] else { return TokenStream::new() };
    let at = Span::mixed_site();
    let scratch = body.scratch.iter().map(|(values, held)| {
        let values = Literal::u64_unsuffixed(*values);
        let bytes = match held {
            Held::Bytes(bytes) => Literal::u64_unsuffixed(*bytes).into_token_stream(),
            Held::Named(named) => {
                let (of, part) =
                    (type_beside(&body.named[named.item].0), named.read(&quote_spanned!(at=> (*of))));
                quote_spanned!(at=> #private::size_of_part(&|of: &#of| #part))
            }
        };
        quote_spanned!(at=> #values * #bytes)
    });
    let scratch: Vec<_> = scratch.collect();
    let conditions = conditions(item);
    let what = if scratch.is_empty() { "shared arrays" } else { "shared arrays, reductions and scans" };
    let said = format!("the {what} of kernel `{kernel}` need more than the 48 KiB of a block");
    let sizes = arrays.iter().map(|array| {
        let ty = &array.ty;
        within(array, quote_spanned!(at=> ::core::mem::size_of::<#ty>().next_multiple_of(16)))
    });
    // Under a name of its own, a type may be an array, which has axes that the macro cannot see.
    let named = arrays.iter().filter(|array| !is_evident(element(&array.ty))).map(|array| {
        let of = element(&array.ty);
        within(array, quote_spanned!(at=> #private::sealed::shared_element::<#of>()))
    });
    quote_spanned! {first.ty.span().resolved_at(Span::mixed_site())=>
        #(#conditions)*
        #[allow(dead_code, unused_imports, clippy::all, reason = "it is a copy, of which not everything is a length")]
        const _: () = {
            // Each begins at a multiple of 16 bytes.
            ::core::assert!(0 #(+ #sizes)* #(+ #scratch)* <= 48 << 10, #said);
            #(#named;)*
        };
    }
}

/// An expression of an array's type, among the constants and imports that the type may name.
fn within(array: &SharedArray, of: TokenStream) -> TokenStream {
    let items = array.items.iter().rev().filter(|items| !items.is_empty());
    items.fold(of, |of, items| quote_spanned!(Span::mixed_site()=> { #items #of }))
}

/// The type of the elements, along one axis or two.
fn element(array: &Type) -> &Type {
    fn of_array(array: &Type) -> &Type {
        match peel(array) {
            Type::Array(array) => peel(&array.elem),
            other => other,
        }
    }
    of_array(of_array(array))
}

fn is_evident(element: &Type) -> bool {
    match element {
        Type::Path(path) => Alone::default()
            .type_of(element)
            .is_some_and(|_| !named::is_name(path) || atomics::is_made_of(element)),
        _ => true,
    }
}
