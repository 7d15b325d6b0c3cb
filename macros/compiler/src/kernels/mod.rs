//! `#[kernels("saxpy.cu")]`: typed kernels, checked against their source.

mod arguments;
mod check;
mod codegen;
mod ctype;
mod lexer;
mod parameter;
pub mod prototype;
mod syntax;
mod text;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
pub use syn::LitStr;

/// Expands `#[kernels(attr)] item`. `read` gives the text of the source, or says why it cannot.
///
/// Where something is wrong, the result holds every error and, in place of each kernel, a stub of the same type.
pub fn expand(
    attr: TokenStream,
    item: TokenStream,
    read: &dyn Fn(&LitStr) -> Result<String, String>,
) -> TokenStream {
    let mut errors = Vec::new();
    let arguments = arguments::parse(attr, &mut errors);
    let block = match syntax::block(item.clone(), &mut errors) {
        Some(block) => block,
        None => {
            // Some other item: it stays, so that its names resolve.
            let kept = syntax::is_item(&item).then_some(item);
            let errors = errors.iter().map(syn::Error::to_compile_error);
            return quote!(#(#errors)* #kept);
        }
    };
    let bounds = match &arguments.file {
        Some(file) => check::check(&block, file, read, &mut errors),
        None => vec![None; block.kernels.len()],
    };
    if errors.is_empty() {
        codegen::kernels(&arguments, &block, &bounds)
    } else {
        let stubs = codegen::stubs(&arguments, &block);
        let errors = errors.iter().map(syn::Error::to_compile_error);
        quote!(#(#errors)* #stubs)
    }
}

/// An error at `at`: the fact, why it matters, and the edit that mends it.
fn error(at: impl ToTokens, code: &str, message: &str, notes: &[String], help: Option<String>) -> syn::Error {
    let mut text = format!("[{code}]: {message}");
    for note in notes {
        text += &format!("\nnote: {note}");
    }
    if let Some(help) = help {
        text += &format!("\nhelp: {help}");
    }
    syn::Error::new_spanned(at, text)
}
