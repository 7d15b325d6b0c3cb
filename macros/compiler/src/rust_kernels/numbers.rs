//! What rustc is asked to check: that values are numbers whose types it alone knows, and that names of
//! numbers mean these.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, ExprPath, ItemFn};

use super::attribute::Arguments;
use super::ir::Function;
use super::named::{Assumed, Named};
use super::parts::{conditions, type_beside};
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
        // The error points at the operator or method.
        let at = span.resolved_at(Span::mixed_site());
        let of = type_beside(&function.named[named.item].0);
        let value = match named.parts[..] {
            [] => quote_spanned!(at=> *of),
            _ => named.read(&quote_spanned!(at=> of)),
        };
        checks.push(quote_spanned!(at=> let _ = |of: &#of| #private::number(&#value);));
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

/// The checks that functions to which a literal without a type is passed are for one type.
pub(super) fn bare(
    arguments: &Arguments,
    conditions: &[&Attribute],
    literals: &[(ExprPath, Span)],
) -> TokenStream {
    let private = private(arguments.krate.as_ref());
    let checks = literals.iter().map(|(path, literal)| {
        let at = Span::mixed_site();
        // The error of the function's type points at the literal.
        let mut path = path.clone();
        for segment in &mut path.path.segments {
            segment.ident.set_span(segment.ident.span().located_at(*literal));
        }
        let ty = type_beside(&path);
        quote_spanned!(at=> #(#conditions)* const _: fn() = #private::for_one_type::<#ty>;)
    });
    checks.collect()
}

/// The checks that the names mean it. Without them a `type u32 = u8;` would be another type in C++.
pub(super) fn assumptions(
    arguments: &Arguments,
    conditions: &[&Attribute],
    assumed: &[Assumed],
) -> TokenStream {
    let private = private(arguments.krate.as_ref());
    let checks = assumed.iter().map(|assumed| {
        let (Assumed::Type(path, number) | Assumed::Constant(path, number)) = assumed;
        let at = path.span().resolved_at(Span::mixed_site());
        let name = Ident::new(number.name(), at);
        let of = match number.is_half() {
            true => quote_spanned!(at=> #private::#name),
            false => quote_spanned!(at=> ::core::primitive::#name),
        };
        let check = match assumed {
            Assumed::Type(..) => {
                let ty = type_beside(path);
                quote_spanned!(at=> const _: fn(#ty) -> #of = |number| number;)
            }
            Assumed::Constant(..) => quote_spanned!(at=> const _: #of = #path;),
        };
        quote_spanned!(at=> #(#conditions)* #check)
    });
    checks.collect()
}
