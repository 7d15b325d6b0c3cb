//! The book's listings: what its pages show is included from what is compiled, or from what a test has recorded. That it builds,
//! and that its links lead somewhere, is tested in `book/tests`.

mod above_mean;
mod blocks;
mod expanded;
mod imports;
mod promises;
mod running_total;
mod shown;
mod sources;
mod sums;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The top of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository")
}

/// The files below a folder that end so, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension() == Some(OsStr::new(extension)) {
            found.push(path);
        }
    }
    found.sort();
    found
}
