//! `#[kernels("saxpy.cu")]`: typed kernels, checked against their source.
//!
//! `arguments` and `syntax` parse what the user wrote, `source` has [`cuda_source`](crate::cuda_source) read
//! the source, `check` compares the two, `codegen` writes the kernels' types.

mod arguments;
mod attributes;
mod check;
mod codegen;
mod compilable;
mod errors;
mod files;
mod info;
mod parameter;
mod source;
mod syntax;

pub use files::Files;
use proc_macro2::TokenStream;
use quote::quote;
use source::Source;
pub use syn::LitStr;

/// Expands `#[kernels(attr)] item`. `files` gives the source's content, or says why it cannot.
///
/// If something is wrong, the result holds every error and, in place of each kernel, a stub of the same type.
pub fn expand(attr: TokenStream, item: TokenStream, files: &dyn Files) -> TokenStream {
    let mut errors = Vec::new();
    let arguments = arguments::parse(attr, &mut errors);
    let block = match syntax::block(item.clone(), arguments.kind(), &mut errors) {
        Some(block) => block,
        None => {
            // Some other item: it stays, so that its names resolve.
            let kept = syntax::is_item(&item).then_some(item);
            let errors = errors.iter().map(syn::Error::to_compile_error);
            return quote!(#(#errors)* #kept);
        }
    };
    let names: Vec<_> = block.kernels.iter().map(|kernel| crate::text::unraw(&kernel.name)).collect();
    let source = source::read(&arguments, &names, files, &mut errors);
    let facts = match (&source, &arguments.file) {
        (Some(source), Some(file)) => check::check(&block, &file.value(), source, &mut errors),
        _ => Vec::new(),
    };
    if errors.is_empty() {
        let tree = match &source {
            Some(Source::Cuda(source)) => source.tree.as_ref(),
            _ => None,
        };
        codegen::kernels(&arguments, &block, tree, &facts)
    } else {
        let stubs = codegen::stubs(&arguments, &block);
        let errors = errors.iter().map(syn::Error::to_compile_error);
        quote!(#(#errors)* #stubs)
    }
}
