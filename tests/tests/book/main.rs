//! The book's listings: its pages include what is compiled, or what a test has recorded. `book/tests` checks
//! that the book builds, and that its links lead somewhere.

mod above_mean;
mod blocks;
mod expanded;
mod imports;
mod names;
mod peaks;
mod promises;
mod ranks;
mod readme;
mod running_total;
mod several;
mod shown;
mod sources;
mod sums;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernels of these pages, by the real compiler.
#[test]
#[ignore = "needs NVRTC"]
fn the_kernels_compile() -> thalweg::Result<()> {
    thalweg::compile_kernels("sm_80")
}

/// The top of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository")
}

/// The files in this folder and below it whose names have this extension, in order.
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
