//! Values that are used as numbers, whose types rustc alone knows: it is asked whether they are.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ItemFn;

use super::attribute::Arguments;
use super::codegen::{conditions, type_beside};
use super::ir::Function;
use super::named::Named;
use super::types::{Ty, Types};
use crate::codegen::launches::private;

/// The checks of each such type of a function. Without them a struct with an operator of its own would compile
/// in Rust alone.
pub(super) fn checks(
    arguments: &Arguments,
    item: &ItemFn,
    function: &Function,
    types: &Types,
    numbers: &[(Ty, Span)],
) -> TokenStream {
    let private = private(arguments.krate.as_ref());
    let mut known: Vec<&Named> = Vec::new();
    let mut checks = Vec::new();
    for &(ty, span) in numbers {
        let Some(named) = types.as_named(ty) else { continue };
        if known.contains(&named) {
            continue;
        }
        known.push(named);
        let at = Span::mixed_site();
        let of = type_beside(&function.named[named.item].0);
        let value = match named.parts[..] {
            [] => quote_spanned!(at=> *of),
            _ => named.read(&quote_spanned!(at=> of)),
        };
        let number = quote_spanned!(span.resolved_at(at)=> number(&#value));
        checks.push(quote_spanned!(at=> let _ = |of: &#of| #private::#number;));
    }
    if checks.is_empty() {
        return TokenStream::new();
    }
    let conditions = conditions(item);
    quote! {
        #(#conditions)*
        const _: () = {
            #(#checks)*
        };
    }
}
