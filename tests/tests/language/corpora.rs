//! The findings of fuzzing, and the files that it starts from: every file of `tests/fuzz/corpus` is read as
//! the fuzz targets read it.

#[path = "../../fuzz/src/lib.rs"]
mod fuzzed;

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// The size in bytes above which files are not committed.
const LARGEST: usize = 8 << 10;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The content of a folder, by name and in order.
fn listed(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a plain name")).collect()
}

/// Reads each file of a target's corpus.
fn replayed(target: &str) {
    let (_, function) = fuzzed::TARGETS.into_iter().find(|(name, _)| *name == target).expect("a target");
    let corpus = folder().join("corpus").join(target);
    let files = listed(&corpus);
    assert!(!files.is_empty(), "the corpus of `{target}` is empty");
    let failed = files.iter().filter(|file| {
        let bytes = fs::read(corpus.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(bytes.len() <= LARGEST, "{file} has {} bytes", bytes.len());
        catch_unwind(|| fuzzed::run(function, &bytes)).is_err()
    });
    let failed: Vec<_> = failed.collect();
    assert!(failed.is_empty(), "these of {} files in the corpus of `{target}`: {failed:?}", files.len());
}

#[test]
fn calibration() {
    replayed("calibration");
}

#[test]
fn cuda() {
    replayed("cuda");
}

#[test]
fn image() {
    replayed("image");
}

#[test]
fn npy() {
    replayed("npy");
}

#[test]
fn ptx() {
    replayed("ptx");
}

/// Each target has its program and its corpus, and there are no others.
#[test]
fn targets() {
    let names: BTreeSet<_> = fuzzed::TARGETS.map(|(name, _)| name.to_owned()).into();
    assert_eq!(listed(&folder().join("corpus")), names);
    let programs: BTreeSet<_> = names.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(listed(&folder().join("fuzz_targets")), programs);
}
