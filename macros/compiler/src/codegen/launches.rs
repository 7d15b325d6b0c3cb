//! What the launches of `#[kernels]` and `#[kernel]` have in common.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote_spanned};
use syn::{Expr, Path, Type};

use super::{follow, is_primitive};
use crate::text::unraw;

/// `::thalweg::__private`, or that of the crate under another path.
pub(crate) fn private(krate: Option<&Path>) -> TokenStream {
    let root = match krate {
        Some(path) => path.to_token_stream(),
        None => quote_spanned!(Span::mixed_site()=> ::thalweg),
    };
    quote_spanned!(Span::mixed_site()=> #root::__private)
}

/// The closure `host`: the function that the simulated device runs for a grid. `promises` are those of
/// parameters of which the kernel writes all.
pub(crate) fn host(
    private: &TokenStream,
    body: &TokenStream,
    promises: &[TokenStream],
    accesses: &[TokenStream],
) -> TokenStream {
    let at = Span::mixed_site();
    // SAFETY of the generated blocks: the launch runs a body only while its arguments are lent to it.
    let body = if promises.is_empty() {
        quote_spanned!(at=> #private::host_body(#body))
    } else {
        quote_spanned! {at=>
            let body = #body;
            unsafe { #private::whole_body(grid, &[#(#promises),*], &[#(#accesses),*], body) }
        }
    };
    quote_spanned!(at=> let host = move |grid: #private::Grid| { #body };)
}

/// What lends the memory of the parameter at this position. Two parameters may have the same letters, if a macro has
/// written one of them.
pub(crate) fn lender(position: usize) -> Ident {
    format_ident!("lender_{position}", span = Span::mixed_site())
}

/// The check that no element is left over where a kernel takes several elements of memory as one. Numbers,
/// which stand for themselves, need none.
pub(crate) fn whole(kernel: &str, parameter: &Ident, element: &Type) -> TokenStream {
    if is_primitive(element) {
        return TokenStream::new();
    }
    let said = unraw(parameter);
    quote_spanned!(Span::mixed_site()=> (&launch).whole(#kernel, #said, (&#parameter).uneven())?;)
}

/// Says whether conditions follow from these numbers and the lengths of these slices, so that a run whose arguments are
/// those of the run before need not ask them again.
pub(crate) fn asks(
    conditions: &[Expr],
    (numbers, slices): (Vec<&Ident>, Vec<&Ident>),
    private: &TokenStream,
) -> TokenStream {
    match follow(conditions, numbers, slices, private) {
        None => quote_spanned!(Span::mixed_site()=> (&launch).asks();),
        Some(words) if words.is_empty() => TokenStream::new(),
        Some(words) => quote_spanned!(Span::mixed_site()=> (&launch).follows([#(#words),*]);),
    }
}

/// The closure that says the values in a condition which does not hold. Each is a call of `add`.
pub(crate) fn values(added: &[TokenStream]) -> TokenStream {
    match added {
        [] => quote_spanned!(Span::mixed_site()=> |_| {}),
        _ => quote_spanned!(Span::mixed_site()=> |values| { values #(#added)*; }),
    }
}
