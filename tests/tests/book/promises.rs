//! The promises of kernels that readers copy: a kernel that is given memory says what it needs of its
//! arguments.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::blocks::blocks;
use super::{files, root};

/// The texts that are shown to readers as right: the listings of the pages, the README and the examples. The
/// programs that are shown as wrong are those of `ui/`.
fn shown() -> BTreeMap<PathBuf, String> {
    let mut shown: BTreeMap<PathBuf, String> = BTreeMap::new();
    for block in blocks().iter().filter(|block| block.kind == "rust,ignore") {
        for part in block.included() {
            if !part.path.starts_with(root().join("tests/ui")) {
                *shown.entry(part.path.clone()).or_default() += &part.text();
            }
        }
    }
    let mut others = files(&root().join("examples"), "rs");
    others.retain(|path| !path.components().any(|part| part.as_os_str() == "target"));
    others.push(root().join("README.md"));
    for path in others {
        let text = fs::read_to_string(&path).expect("a text");
        shown.insert(path, text);
    }
    shown
}

/// The kernels that a text declares: the attributes of each, and its signature.
fn kernels(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("safe fn ").filter(|(at, _)| !text[..*at].ends_with("un")).map(|(at, _)| {
        let attributes = text[..at].rfind([';', '{']).map_or(0, |end| end + 1);
        let signature = text[at..].split(';').next().unwrap_or_default();
        (&text[attributes..at], signature)
    })
}

#[test]
fn every_kernel_that_is_shown_says_what_it_needs() {
    let mut seen = 0;
    let mut without = Vec::new();
    for (path, text) in shown() {
        for (attributes, signature) in kernels(&text).filter(|(_, signature)| signature.contains('[')) {
            seen += 1;
            if !attributes.contains("#[requires(") {
                without.push(format!("{}: {signature}", path.display()));
            }
        }
    }
    assert!(seen > 40, "{seen} kernels");
    assert!(without.is_empty(), "kernels without `#[requires(…)]`:\n{}", without.join("\n"));
}
