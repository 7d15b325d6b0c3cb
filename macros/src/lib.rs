//! The procedural macros of thalweg. Use them through the `thalweg` crate, where they are documented.

use std::path::PathBuf;

use proc_macro::TokenStream;

/// Declares a pipeline of CUDA streams, checks it, and makes a type of it with `new`, `options` and `run`.
///
/// See the crate's documentation for an example, and the book for the language.
#[proc_macro]
pub fn stream_pipeline(input: TokenStream) -> TokenStream {
    thalweg_compiler::stream_pipeline(input.into()).into()
}

/// Declares kernels of a CUDA source file, checks the declarations against it, and makes a type of each.
///
/// See the crate's documentation for an example, and the book for the rules.
#[proc_macro_attribute]
pub fn kernels(attribute: TokenStream, item: TokenStream) -> TokenStream {
    thalweg_compiler::kernels::expand(attribute.into(), item.into(), &read).into()
}

/// The text of a kernel source, whose path is relative to the source file that names it, as with `include_str!`.
fn read(path: &thalweg_compiler::kernels::LitStr) -> Result<String, String> {
    let relative = PathBuf::from(path.value());
    // Editors may have no file for a span; the package's folder is the next best place.
    let folder = match path.span().unwrap().local_file() {
        Some(file) => file.parent().map(PathBuf::from).unwrap_or_default(),
        None => PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("src"),
    };
    let full = folder.join(relative);
    std::fs::read_to_string(&full).map_err(|error| format!("{}: {error}", full.display()))
}
