//! Writes what the runtime knows of a source and its kernels.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{LitStr, Type};

use super::arguments::Arguments;
use super::check::{Facts, LayoutCheck, unraw};
use super::parameter::{ParameterKind, peel};
use super::source::{Kind, Tree};
use super::syntax::{Block, Kernel};
use super::text::text;

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
        let headers = headers.iter().map(|(path, file)| {
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
    let bounds = facts.max_threads_per_block.map(|threads| quote_spanned!(at=> .launch_bounds(#threads)));
    // What the source fixes, a launch need not ask for.
    let cluster = kernel.cluster.as_ref().filter(|_| !facts.has_cluster).map(|cluster| {
        let [x, y, z] = cluster.blocks;
        quote_spanned!(at=> .cluster([#x, #y, #z]))
    });
    let cooperative = kernel.cooperative.as_ref().map(|_| quote_spanned!(at=> .cooperative()));
    let on_host = kernel.host.as_ref().map(|_| quote_spanned!(at=> .on_host()));
    quote_spanned! {at=>
        #private::KernelInfo::new(#name, &MODULE)
            #instance #parameters #symbols #bounds #cluster #cooperative #on_host
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

/// What rustc checks of the types that have the place of one in the source: sizes and alignments, each once.
pub(super) fn checks(block: &Block, facts: &[Facts]) -> TokenStream {
    let mut seen = Vec::new();
    let mut checks = TokenStream::new();
    for (kernel, facts) in block.kernels.iter().zip(facts) {
        for check in &facts.layouts {
            let key = (text(&check.ty), check.size, check.align, kernel.attributes.len());
            // Under `cfg` of its own a kernel's check may be the only one.
            let is_shared = kernel.attributes.len() == block.attributes.len();
            if is_shared && seen.contains(&key) {
                continue;
            }
            seen.push(key);
            checks.extend(layout(kernel, check));
        }
    }
    checks
}

fn layout(kernel: &Kernel, LayoutCheck { ty, size, align, fact, notes }: &LayoutCheck) -> TokenStream {
    // rustc shows where the assertion stands: at the type.
    let at = ty.span().resolved_at(Span::mixed_site());
    let attributes = &kernel.attributes;
    let assert = |of: &str, number: u64, unit: &str| {
        let of = syn::Ident::new(of, at);
        let number = proc_macro2::Literal::u64_unsuffixed(number);
        let said = format!("[TW0417]: {fact}, which {unit}\n{notes}");
        let said = LitStr::new(&said.replace('{', "{{").replace('}', "}}"), at);
        quote_spanned!(at=> ::core::assert!(::core::mem::#of::<#ty>() == #number, #said);)
    };
    let plural = |n: u64| if n == 1 { "byte" } else { "bytes" };
    let size_check = assert("size_of", *size, &format!("has {size} {}", plural(*size)));
    let align_check =
        align.map(|align| assert("align_of", align, &format!("is aligned to {align} {}", plural(align))));
    quote_spanned! {at=>
        #(#attributes)*
        const _: () = { #size_check #align_check };
    }
}
