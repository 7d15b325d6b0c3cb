//! The files that a block names.

use std::path::PathBuf;

use syn::LitStr;

// Note 15: what a source includes is embedded when the crate is compiled.
/// The files of the machine that the compiler runs on.
pub trait Files {
    /// The content of a file, whose path is relative to the Rust file that names it; else why it cannot be
    /// read.
    ///
    /// # Errors
    /// The operating system's words.
    fn read(&self, path: &LitStr) -> Result<Vec<u8>, String>;

    /// The folder of the Rust file in which `path` stands.
    fn folder(&self, _path: &LitStr) -> PathBuf {
        PathBuf::from("/")
    }

    /// Whether there is such a folder.
    fn is_folder(&self, _path: &LitStr) -> bool {
        true
    }
}

impl<F: Fn(&LitStr) -> Result<Vec<u8>, String>> Files for F {
    fn read(&self, path: &LitStr) -> Result<Vec<u8>, String> {
        self(path)
    }
}
