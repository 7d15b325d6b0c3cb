//! Writes what the runtime knows of a source and its kernels.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{LitStr, Type};

use super::arguments::Arguments;
use super::check::{Facts, LayoutCheck};
use super::parameter::ParameterKind;
use super::syntax::{Block, Kernel};
use crate::cuda_source::cuda::Tree;
use crate::cuda_source::kind::Kind;
use crate::groups::peel;
use crate::text::{text, unraw};

/// The module that the kernels of a block share.
pub(super) fn module(
    arguments: &Arguments,
    block: &Block,
    tree: Option<&Tree>,
    private: &TokenStream,
) -> TokenStream {
    let at = Span::mixed_site();
    let file = arguments.file.as_ref();
    if arguments.kind() != Kind::Cuda {
        return quote_spanned!(at=> #private::KernelModule::image(#file, ::core::include_bytes!(#file)));
    }
    let including = tree.map(|Tree { path, headers, include }| {
        let at_file = file.map_or(at, LitStr::span);
        let headers = headers.iter().map(|(path, file)| {
            let file = LitStr::new(file, at_file);
            quote_spanned!(at=> #private::Header { path: #path, text: ::core::include_str!(#file) })
        });
        quote_spanned!(at=> .including(#path, &[#(#headers),*], &[#(#include),*]))
    });
    let options = &arguments.options;
    let options = (!options.is_empty()).then(|| quote_spanned!(at=> .options(&[#(#options),*])));
    let mut instances: Vec<&str> = Vec::new();
    for instance in block.kernels.iter().filter_map(|kernel| kernel.instance.as_ref()) {
        if !instances.contains(&instance.instance.text.as_str()) {
            instances.push(&instance.instance.text);
        }
    }
    let instances = (!instances.is_empty()).then(|| quote_spanned!(at=> .instances(&[#(#instances),*])));
    quote_spanned! {at=>
        #private::KernelModule::cuda(#file, ::core::include_str!(#file)) #including #options #instances
    }
}

/// `KernelInfo::new("saxpy", &MODULE).parameters(&[4, 4, 8, 8])`
pub(super) fn info(kernel: &Kernel, facts: &Facts, private: &TokenStream) -> TokenStream {
    let at = Span::mixed_site();
    let name = unraw(&kernel.name);
    let instance = kernel.instance.as_ref().map(|instance| {
        let text = &instance.instance.text;
        quote_spanned!(at=> .instance(#text))
    });
    let sizes = kernel.parameters.iter().filter(|parameter| parameter.symbol.is_none()).map(|parameter| {
        match parameter.kind {
            ParameterKind::Scalar => size(&parameter.ty),
            _ => quote_spanned!(at=> 8),
        }
    });
    let mut sizes = sizes.peekable();
    let parameters = sizes.peek().is_some().then(|| quote_spanned!(at=> .parameters(&[#(#sizes),*])));
    let mut symbols =
        kernel.parameters.iter().filter_map(|parameter| Some(&parameter.symbol.as_ref()?.name)).peekable();
    let symbols = symbols.peek().is_some().then(|| quote_spanned!(at=> .symbols(&[#(#symbols),*])));
    let is_known = facts.symbol_bytes.iter().any(Option::is_some);
    let symbol_bytes = is_known.then(|| {
        let bytes =
            facts.symbol_bytes.iter().map(|bytes| match bytes.map(proc_macro2::Literal::u64_unsuffixed) {
                Some(bytes) => quote_spanned!(at=> ::core::option::Option::Some(#bytes)),
                None => quote_spanned!(at=> ::core::option::Option::None),
            });
        quote_spanned!(at=> .symbol_bytes(&[#(#bytes),*]))
    });
    let bounds = facts.max_threads_per_block.map(|threads| quote_spanned!(at=> .launch_bounds(#threads)));
    // A launch need not ask for a size that the source fixes.
    let cluster = kernel.cluster.as_ref().filter(|_| !facts.has_cluster).map(|cluster| {
        let [x, y, z] = cluster.blocks;
        quote_spanned!(at=> .cluster([#x, #y, #z]))
    });
    let cooperative = kernel.cooperative.as_ref().map(|_| quote_spanned!(at=> .cooperative()));
    let on_host = kernel.host.as_ref().map(|_| quote_spanned!(at=> .on_host()));
    quote_spanned! {at=>
        #private::KernelInfo::new(#name, &MODULE)
            #instance #parameters #symbols #symbol_bytes #bounds #cluster #cooperative #on_host
    }
}

/// The bytes of a type, as short as it goes.
fn size(ty: &Type) -> TokenStream {
    let at = Span::mixed_site();
    let bytes = match peel(ty).to_token_stream().to_string().as_str() {
        "bool" | "u8" | "i8" => 1,
        "u16" | "i16" => 2,
        "u32" | "i32" | "f32" => 4,
        "u64" | "i64" | "f64" => 8,
        _ => return quote_spanned!(at=> ::core::mem::size_of::<#ty>()),
    };
    let bytes = proc_macro2::Literal::usize_unsuffixed(bytes);
    quote_spanned!(at=> #bytes)
}

/// The checks of rustc on the types that stand for types of the source: sizes and alignments, each once.
pub(super) fn checks(block: &Block, facts: &[Facts], private: &TokenStream) -> TokenStream {
    let mut seen = Vec::new();
    let mut checks = TokenStream::new();
    for (kernel, facts) in block.kernels.iter().zip(facts) {
        for check in &facts.layouts {
            let key = (text(&check.ty), check.layouts.clone(), kernel.attributes.len());
            // Under a `cfg` of its own, a kernel's check may be the only one.
            let is_shared = kernel.attributes.len() == block.attributes.len();
            if is_shared && seen.contains(&key) {
                continue;
            }
            seen.push(key);
            checks.extend(layout(kernel, check, private));
        }
    }
    checks
}

fn layout(kernel: &Kernel, check: &LayoutCheck, private: &TokenStream) -> TokenStream {
    let LayoutCheck { ty, layouts, there, place } = check;
    // rustc shows where the call stands, from its first token on: at the type.
    let at = ty.span().resolved_at(Span::mixed_site());
    let private: TokenStream = private
        .clone()
        .into_iter()
        .map(|mut token| {
            token.set_span(token.span().located_at(at));
            token
        })
        .collect();
    let attributes = &kernel.attributes;
    let number = |number: u64| proc_macro2::Literal::u64_unsuffixed(number);
    let layouts = layouts.iter().map(|layout| {
        let size = number(layout.size);
        let align = match layout.align.map(number) {
            Some(align) => quote_spanned!(at=> ::core::option::Option::Some(#align)),
            None => quote_spanned!(at=> ::core::option::Option::None),
        };
        quote_spanned!(at=> (#size, #align))
    });
    let here = format!("[TW0417]: `{}`", text(ty));
    let place = place.as_ref().map_or_else(String::new, |place| format!("\nnote: {place}"));
    quote_spanned! {at=>
        #(#attributes)*
        const _: () = #private::same_layout::<#ty>(&[#(#layouts),*], #here, #there, #place);
    }
}
