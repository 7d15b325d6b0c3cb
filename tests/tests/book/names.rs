//! The texts name items of the crates by paths that exist: those of the lists of public items, which
//! `bash .ci/interface --bless` writes anew.

use std::collections::BTreeSet;
use std::fs;

use super::{files, root};

/// The crates that have such a list, with their folders.
const CRATES: [(&str, &str); 5] = [
    ("thalweg", "runtime"),
    ("thalweg_arrow", "runtime/arrow"),
    ("thalweg_kernels", "kernels"),
    ("thalweg_libraries", "runtime/libraries"),
    ("thalweg_parquet", "runtime/parquet"),
];

/// Crates that `thalweg` exports as they are: their items are in no list.
const EXPORTED: [&str; 2] = ["thalweg::bytemuck", "thalweg::half"];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The paths of a text, of two names or more, with their lines. `a::{b, c}` is two paths.
fn paths(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("::") {
        let word = rest[..at].char_indices().rev().take_while(|&(_, c)| is_word(c));
        let begin = word.last().map_or(at, |(index, _)| index);
        let end = rest[at..].find(|c| !is_word(c) && c != ':').map_or(rest.len(), |length| at + length);
        let path = rest[begin..end].trim_end_matches(':');
        let line = text[..text.len() - rest.len() + begin].matches('\n').count() + 1;
        let braces = rest[end..].strip_prefix('{').and_then(|inner| inner.split_once('}'));
        match braces.filter(|_| rest[..end].ends_with("::")) {
            Some((names, _)) => {
                let names =
                    names.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "self");
                found.extend(names.map(|name| (line, format!("{path}::{name}"))));
            }
            None => found.push((line, path.to_owned())),
        }
        rest = &rest[end..];
    }
    found
}

/// All paths of the lists, and what they are made of: `a::b` of `a::b::c`.
fn public() -> BTreeSet<String> {
    let mut public = BTreeSet::new();
    for (_, folder) in CRATES {
        let list = root().join(folder).join("interface.txt");
        let list = fs::read_to_string(&list).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
        for (_, path) in paths(&list) {
            let ends = path.match_indices("::").map(|(at, _)| at).chain([path.len()]);
            public.extend(ends.map(|end| path[..end].to_owned()));
        }
    }
    public
}

#[test]
fn paths_and_kinds_of_errors_exist() {
    let public = public();
    let exists = |path: &str| {
        let of = |exported: &&str| path.strip_prefix(*exported).is_some_and(|rest| rest.starts_with("::"));
        match path.split_once("::") {
            Some(("ErrorKind", _)) => public.contains(&format!("thalweg::error::{path}")),
            Some((first, _)) if CRATES.iter().any(|(name, _)| *name == first) => {
                public.contains(path) || EXPORTED.iter().any(of)
            }
            _ => true,
        }
    };
    let mut texts = files(&root().join("book/src"), "md");
    texts.extend(
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "BENCHMARKS.md"].map(|name| root().join(name)),
    );
    texts.extend(["runtime/DECISIONS.md", "runtime/UNSAFE.md"].map(|name| root().join(name)));
    let mut seen = 0;
    let mut gone = Vec::new();
    for file in texts {
        let text = fs::read_to_string(&file).expect("a text");
        for (line, path) in paths(&text) {
            seen += usize::from(path.starts_with("thalweg") || path.starts_with("ErrorKind::"));
            if !exists(&path) {
                gone.push(format!("{}:{line}: {path}", file.display()));
            }
        }
    }
    assert!(gone.is_empty() && seen > 50, "{seen} paths, of which these do not exist:\n{}", gone.join("\n"));
}

#[test]
fn paths_are_read_with_braces() {
    let text = "`thalweg::sim::{Effect,\nself, Fault}` and\n`ErrorKind::Race`, a: b";
    let found = [(1, "thalweg::sim::Effect"), (1, "thalweg::sim::Fault"), (3, "ErrorKind::Race")];
    assert_eq!(paths(text), found.map(|(line, path)| (line, path.to_owned())));
}
