//! Writes how the simulated device runs a kernel: the user's function, for each thread or block of a grid.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::FnArg;

use super::codegen::Generator;
use super::divided::Divided;
use super::ir::{LocalId, Unchecked};
use super::rounds::InRounds;
use super::signature::{ParameterKind, Signature};
use super::within::within;
use crate::codegen::many_arguments;
use crate::text::unraw;

impl Generator<'_> {
    /// The user's function where no parameter's name hides its own.
    pub(super) fn thread(&self, has_twin: bool) -> TokenStream {
        let (at, function) = (Span::mixed_site(), &self.item.sig.ident);
        let inputs = self.item.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&typed.ty),
            FnArg::Receiver(_) => None,
        });
        let types: Vec<_> = inputs.collect();
        let names = (0..types.len()).map(|index| Ident::new(&format!("argument_{index}"), at));
        let names: Vec<_> = names.collect();
        let many = many_arguments(names.len());
        let unused = has_twin.then(
            || quote_spanned!(at=> #[allow(dead_code, reason = "the simulated device runs another one")]),
        );
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

    /// The function that the host runs: the user's, once for each thread. Each thread of the host has its
    /// handles. It runs on the simulated device's memory, and on copies of a GPU's.
    ///
    /// A kernel whose threads may race is watched. Atomics are not: no two accesses to one race.
    pub(super) fn host(
        &self,
        signature: &Signature,
        unchecked: &Unchecked,
        in_rounds: Option<&InRounds>,
        divided: Option<&Divided>,
        accesses: &[TokenStream],
    ) -> TokenStream {
        let (private, at) = (&self.private, Span::mixed_site());
        let mut views = Vec::new();
        let mut slices = Vec::new();
        let mut handles = Vec::new();
        let mut arguments = Vec::new();
        let mut promises = Vec::new();
        for (place, parameter) in signature.parameters.iter().enumerate() {
            let name = &parameter.name;
            if parameter.kind.is_memory() {
                views.push(quote_spanned!(at=> let #name = #name.within(copies);));
            }
            let handle = |method: &str| {
                let method = Ident::new(method, at);
                let handle = quote_spanned!(at=> unsafe { (&#name).#method() });
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
                    slices.push(quote_spanned!(at=> let #name: &[#element] = unsafe { (&#name).slice() };));
                    // The kernel has the slice, and not a reference to it.
                    handles.push(quote_spanned!(at=> let #name: &[#element] = #name;));
                    arguments.push(name.to_token_stream());
                }
                ParameterKind::Atomics(element) => {
                    slices.push(quote_spanned!(at=> let #name: &[#element] = unsafe { (&#name).slice() };));
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
                    promises.push(quote_spanned!(at=> (&#name).promise(#said)));
                }
                ParameterKind::Value(_) => arguments.push(name.to_token_stream()),
            }
        }
        let run = self.run(signature, unchecked, in_rounds, divided, &handles, &arguments);
        let body = quote_spanned! {at=>
            move || {
                #(#slices)*
                #run
            }
        };
        // A GPU's launch has kept its promises, or failed.
        let checked = (!promises.is_empty()).then(|| {
            // SAFETY of the generated block: the simulated device runs the body while the launch's arguments
            // are lent to it.
            quote_spanned! {at=>
                if !copies.is_any() {
                    return unsafe {
                        #private::whole_body(grid, &[#(#promises),*], &[#(#accesses),*], body)
                    };
                }
            }
        });
        quote_spanned! {at=>
            let host = #private::InRust(move |grid: #private::Grid, copies: &#private::Copies| {
                #(#views)*
                let body = #body;
                #checked
                #private::host_body(body)
            });
        }
    }

    /// The call that runs all threads or blocks of the grid.
    fn run(
        &self,
        signature: &Signature,
        unchecked: &Unchecked,
        in_rounds: Option<&InRounds>,
        divided: Option<&Divided>,
        handles: &[TokenStream],
        arguments: &[TokenStream],
    ) -> TokenStream {
        let (private, at) = (&self.private, Span::mixed_site());
        let dimensions = Literal::usize_unsuffixed(signature.dimensions);
        let goes_together = in_rounds.is_some_and(|in_rounds| in_rounds.goes_together);
        let (run, watched, position) = match signature.is_in_blocks() {
            true if goes_together => ("blocks_together", "watched_blocks", "block"),
            true => ("blocks", "watched_blocks", "block"),
            false => ("indices", "watched_indices", "index"),
        };
        let [run, watched, position] = [run, watched, position].map(|name| Ident::new(name, at));
        if unchecked.may_race() {
            // SAFETY of the generated call: what is watched has no promises to keep.
            return quote_spanned! {at=>
                #private::#watched::<#dimensions, _>(grid, |running| {
                    #(#handles)*
                    move |#position| unsafe { Self::watched(#(#arguments),*) }
                });
            };
        }
        let thread = Ident::new(if in_rounds.is_some() { "in_rounds" } else { "thread" }, at);
        let kernel = quote_spanned!(at=> move |#position| Self::#thread(#(#arguments),*));
        let within = within(self.item, signature);
        let kernel = match signature.is_in_blocks() {
            true => kernel,
            false => quote_spanned!(at=> (#within, #kernel)),
        };
        // By atomics, threads may wait for each other.
        let may_wait = signature.parameters.iter().any(|of| matches!(of.kind, ParameterKind::Atomics(_)));
        let order = (!goes_together).then(|| quote_spanned!(at=> #may_wait,));
        let one_by_one = quote_spanned! {at=>
            #private::#run::<#dimensions, _>(grid, #order || {
                #(#handles)*
                #kernel
            });
        };
        let Some(divided) = divided else { return one_by_one };
        let (length, limits) = (&divided.length, divided.within(private));
        // By 0 each thread fails where it divides.
        quote_spanned! {at=>
            let length_of_row: ::core::primitive::usize = #length;
            if length_of_row == 0 {
                #one_by_one
            } else {
                #private::indices_divided(grid, length_of_row, #may_wait, || {
                    #(#handles)*
                    (#within, #limits, move |index, position| Self::in_rows(position, #(#arguments),*))
                });
            }
        }
    }
}
