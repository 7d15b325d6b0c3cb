//! Writes how the simulated device runs a kernel: the user's function, for each thread or block of a grid.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::FnArg;

use super::codegen::Generator;
use super::ir::{LocalId, Unchecked};
use super::signature::{ParameterKind, Signature};
use crate::codegen::{launches, many_arguments};
use crate::text::unraw;

impl Generator<'_> {
    /// The user's function where no parameter's name hides its own.
    pub(super) fn thread(&self, unchecked: &Unchecked) -> TokenStream {
        let (at, function) = (Span::mixed_site(), &self.item.sig.ident);
        let inputs = self.item.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&typed.ty),
            FnArg::Receiver(_) => None,
        });
        let types: Vec<_> = inputs.collect();
        let names = (0..types.len()).map(|index| Ident::new(&format!("argument_{index}"), at));
        let names: Vec<_> = names.collect();
        let many = many_arguments(names.len());
        let unused = unchecked.may_race().then(|| {
            quote_spanned!(at=> #[allow(dead_code, reason = "the simulated device runs the one that is watched")])
        });
        let call = quote_spanned!(at=> #function(#(#names),*));
        // SAFETY of the generated block: who launches has promised it.
        let call = if self.unsafety().is_some() { quote_spanned!(at=> unsafe { #call }) } else { call };
        quote_spanned! {at=>
            /// What one thread or block does.
            #[inline(always)]
            #[allow(deprecated, reason = "launches are reported")]
            #unused
            #many
            fn thread(#(#names: #types),*) {
                #call;
            }
        }
    }

    /// The function that the simulated device runs: the user's, once for each thread. Each thread of the host has
    /// its handles.
    ///
    /// A kernel whose threads may race is watched.
    pub(super) fn host(
        &self,
        signature: &Signature,
        unchecked: &Unchecked,
        accesses: &[TokenStream],
    ) -> TokenStream {
        let (private, at) = (&self.private, Span::mixed_site());
        let dimensions = Literal::usize_unsuffixed(signature.dimensions);
        let mut slices = Vec::new();
        let mut handles = Vec::new();
        let mut arguments = Vec::new();
        let mut promises = Vec::new();
        for (place, parameter) in signature.parameters.iter().enumerate() {
            let name = &parameter.name;
            let handle = |method: &str| {
                let method = Ident::new(method, at);
                let handle = quote_spanned!(at=> unsafe { #name.#method() });
                match unchecked.scattered.contains(&LocalId(place)) {
                    true => {
                        let said = unraw(name);
                        quote_spanned!(at=> let mut #name = #private::Watched::new(#handle, #said, running);)
                    }
                    false => quote_spanned!(at=> let mut #name = #handle;),
                }
            };
            match &parameter.kind {
                ParameterKind::Index(_) => arguments.push(quote_spanned!(at=> index)),
                ParameterKind::Block(_) => arguments.push(quote_spanned!(at=> block)),
                ParameterKind::Slice(element) => {
                    slices.push(quote_spanned!(at=> let #name: &[#element] = unsafe { #name.slice() };));
                    arguments.push(name.to_token_stream());
                }
                ParameterKind::Own(_) => {
                    handles.push(handle("own"));
                    arguments.push(quote_spanned!(at=> &mut #name));
                }
                ParameterKind::Out(_) => {
                    handles.push(handle("out"));
                    arguments.push(quote_spanned!(at=> &mut #name));
                    let said = unraw(name);
                    promises.push(quote_spanned!(at=> #name.promise(#said)));
                }
                ParameterKind::Value(_) => arguments.push(name.to_token_stream()),
            }
        }
        let (run, position) = match (signature.is_in_blocks(), unchecked.may_race()) {
            (true, false) => (quote_spanned!(at=> blocks::<#dimensions, _>), quote_spanned!(at=> block)),
            (true, true) => {
                (quote_spanned!(at=> watched_blocks::<#dimensions, _>), quote_spanned!(at=> block))
            }
            (false, false) => (quote_spanned!(at=> indices::<#dimensions, _>), quote_spanned!(at=> index)),
            (false, true) => {
                (quote_spanned!(at=> watched_indices::<#dimensions, _>), quote_spanned!(at=> index))
            }
        };
        // SAFETY of the generated call: what is watched has no promises to keep.
        let (running, call) = match unchecked.may_race() {
            true => {
                (quote_spanned!(at=> running), quote_spanned!(at=> unsafe { Self::watched(#(#arguments),*) }))
            }
            false => (TokenStream::new(), quote_spanned!(at=> Self::thread(#(#arguments),*))),
        };
        let body = quote_spanned! {at=>
            move || {
                #(#slices)*
                #private::#run(grid, |#running| {
                    #(#handles)*
                    move |#position| #call
                });
            }
        };
        launches::host(private, &body, &promises, accesses)
    }
}
