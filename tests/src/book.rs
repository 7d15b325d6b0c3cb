//! What the book shows of a run is compared with what is recorded beside its pages.

use std::path::Path;

/// Compares what was printed with the book's file of that name, below `book/src`. `BLESS=1` writes it anew.
///
/// # Panics
///
/// If the two differ.
#[track_caller]
pub fn recorded(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src").join(name);
    let text = format!("{}\n", text.trim_end());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("the book's file can be written");
    }
    let blessed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, blessed, "`BLESS=1` writes {} anew", path.display());
}

/// The lines of a listing, between its marks, with their line numbers in the source.
pub fn listing<'s>(source: &'s str, name: &str) -> impl Iterator<Item = (usize, &'s str)> {
    let (begin, end) = (format!("ANCHOR: {name}"), format!("ANCHOR_END: {name}"));
    let lines = source.lines().enumerate().map(|(index, line)| (index + 1, line));
    lines
        .skip_while(move |(_, line)| !line.ends_with(&begin))
        .skip(1)
        .take_while(move |(_, line)| !line.ends_with(&end))
}

/// An error as a program has it that consists of one listing alone: its line numbers are the listing's.
/// `file` is the source's path, as `file!()` gives it there.
///
/// # Panics
///
/// If the source has no such listing.
pub fn in_listing(error: &thalweg::Error, file: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let source = std::fs::read_to_string(path).expect("the source");
    let first = listing(&source, name).next().expect("the listing is in the source").0;
    let error = error.to_string();
    let place = format!("{file}:");
    let mut parts = error.split(&place);
    let mut text = parts.next().expect("a part").to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let line: usize = part[..part.len() - rest.len()].parse().expect("a number");
        text += &format!("src/main.rs:{}{rest}", line - first + 1);
    }
    text
}
