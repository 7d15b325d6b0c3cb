//! Blocks of kernels and what they expand to.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use proc_macro2::TokenStream;
use thalweg_compiler::kernels::{Files, LitStr, expand};

use crate::page::without_page;

/// A source with one kernel.
pub const SAXPY: &str = "// y += a * x\n\
    \n\
    extern \"C\" __global__ void __launch_bounds__(256)\n\
    saxpy(unsigned int n, float a, const float* __restrict__ x, float* __restrict__ y) {}\n";

/// Another kernel.
pub const FILL: &str = "extern \"C\" __global__ void fill(float value, float* y) {}";

pub fn tokens(text: &str) -> TokenStream {
    TokenStream::from_str(text).expect("test input lexes")
}

/// Expands with `source` as the text of every file that is named.
pub fn expand_with(attr: &str, item: &str, source: &str) -> TokenStream {
    expand(tokens(attr), tokens(item), &|_: &LitStr| Ok(source.as_bytes().to_vec()))
}

/// Expands declarations against `source`, called `k.cu`.
pub fn declare(declarations: &str, source: &str) -> TokenStream {
    expand_with("\"k.cu\"", &format!("unsafe extern \"CUDA\" {{ {declarations} }}"), source)
}

pub fn formatted(expanded: TokenStream) -> String {
    prettyplease::unparse(&syn::parse2(expanded).expect("the expansion is Rust"))
}

/// The texts of all `compile_error!` without their last lines, which say where their pages are, and what else
/// was expanded.
pub fn errors_and_rest(expanded: TokenStream) -> (Vec<String>, Vec<syn::Item>) {
    let file: syn::File = syn::parse2(expanded).expect("the expansion is Rust");
    let mut errors = Vec::new();
    let mut rest = Vec::new();
    for item in file.items {
        match item {
            syn::Item::Macro(item)
                if item.mac.path.segments.last().is_some_and(|last| last.ident == "compile_error") =>
            {
                let text: LitStr = item.mac.parse_body().expect("an error has a text");
                errors.push(without_page(&text.value()).to_owned());
            }
            other => rest.push(other),
        }
    }
    (errors, rest)
}

#[track_caller]
pub fn assert_errors(expanded: TokenStream, expected: &[&str]) {
    let (errors, _) = errors_and_rest(expanded);
    assert_eq!(errors, expected);
}

/// Expects these errors for declarations against `k.cu`, which holds `source`.
#[track_caller]
pub fn assert_declared(declarations: &str, source: &str, expected: &[&str]) {
    assert_errors(declare(declarations, source), expected);
}

/// Compares with `tests/expected/{name}`; `BLESS=1` writes it.
#[track_caller]
pub fn assert_expansion(name: &str, expanded: TokenStream) {
    let text = formatted(expanded);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("the expected text can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} differs; `BLESS=1` writes it anew:\n{text}");
}

/// Files by their path from the Rust file, which lies in `/home/user/project/src`.
pub struct Tree<'a>(pub &'a [(&'a str, &'a [u8])]);

impl Files for Tree<'_> {
    fn read(&self, path: &LitStr) -> Result<Vec<u8>, String> {
        let found = self.0.iter().find(|(known, _)| *known == path.value());
        found.map(|(_, bytes)| bytes.to_vec()).ok_or_else(|| "no such file".to_owned())
    }

    fn folder(&self, _: &LitStr) -> PathBuf {
        PathBuf::from("/home/user/project/src")
    }

    fn is_folder(&self, path: &LitStr) -> bool {
        let folder = format!("{}/", path.value());
        self.0.iter().any(|(known, _)| known.starts_with(&folder))
    }
}

/// Expands declarations against the files of a tree.
pub fn declare_in(attr: &str, declarations: &str, files: &[(&str, &[u8])]) -> TokenStream {
    expand(tokens(attr), tokens(&format!("unsafe extern \"CUDA\" {{ {declarations} }}")), &Tree(files))
}

/// The expansion's text without white space, for looking things up in it.
pub fn dense(expanded: TokenStream) -> String {
    expanded.to_string().split_whitespace().collect()
}

/// Expects that a declaration fits a source, or that it does not.
#[track_caller]
pub fn assert_declaration_fits(declaration: &str, source: &str, fits: bool) {
    let (errors, _) = errors_and_rest(declare(declaration, source));
    assert_eq!(errors.is_empty(), fits, "{declaration} for {source}: {errors:?}");
}

/// Expects that the declaration of a kernel's parameters fits a source, or that it does not.
#[track_caller]
pub fn assert_fits(here: &str, source: &str, fits: bool) {
    assert_declaration_fits(&format!("safe fn k({here});"), source, fits);
}
