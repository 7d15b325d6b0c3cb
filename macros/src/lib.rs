//! The procedural macros of thalweg. Use them through the `thalweg` crate, where they are documented.

use std::path::PathBuf;

use proc_macro::TokenStream;
use thalweg_compiler::kernels::{Files, LitStr};
use thalweg_compiler::rust_kernels::{self, Role};

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
    thalweg_compiler::kernels::expand(attribute.into(), item.into(), &Disk).into()
}

/// Makes a kernel of a Rust function: the same text runs on the host and, translated to CUDA C++, on a GPU.
///
/// See the crate's documentation for an example, and the book for the language.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    rust_kernels::expand(Role::Kernel, attribute.into(), item.into()).into()
}

/// Says what each launch of a kernel checks, below [`kernel`](macro@kernel), which reads it itself. So this one is
/// expanded only where it stands in another place, and is an error.
///
/// See the book for the language.
#[proc_macro_attribute]
pub fn requires(condition: TokenStream, item: TokenStream) -> TokenStream {
    rust_kernels::misplaced_requirement(condition.into(), item.into()).into()
}

/// Makes a Rust function one that kernels in Rust can call, and a struct one whose values they can have.
///
/// See the book for the language.
#[proc_macro_attribute]
pub fn device(attribute: TokenStream, item: TokenStream) -> TokenStream {
    rust_kernels::expand(Role::Device, attribute.into(), item.into()).into()
}

/// The files of the machine that compiles. Paths are relative to the source file that names them, as with
/// `include_str!`.
struct Disk;

impl Disk {
    /// The path from where the compiler runs.
    fn path(&self, path: &LitStr) -> PathBuf {
        Self::beside(path).join(path.value())
    }

    fn beside(path: &LitStr) -> PathBuf {
        // Editors may have no file for a span; the package's folder is the next best place.
        match path.span().unwrap().local_file() {
            Some(file) => file.parent().map(PathBuf::from).unwrap_or_default(),
            None => PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("src"),
        }
    }
}

impl Files for Disk {
    fn read(&self, path: &LitStr) -> Result<Vec<u8>, String> {
        let full = self.path(path);
        std::fs::read(&full).map_err(|error| format!("{}: {error}", full.display()))
    }

    fn folder(&self, path: &LitStr) -> PathBuf {
        let folder = Self::beside(path);
        std::path::absolute(&folder).unwrap_or(folder)
    }

    fn is_folder(&self, path: &LitStr) -> bool {
        self.path(path).is_dir()
    }
}
