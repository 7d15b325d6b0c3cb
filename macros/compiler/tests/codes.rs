//! Every code that the compiler gives stands in the book, and every code in the book is given.

use std::collections::BTreeSet;
use std::path::Path;

/// The codes in a text: `TW` and four digits.
fn codes(text: &str) -> BTreeSet<String> {
    let is_code = |at: &str| at.len() >= 6 && at.as_bytes()[2..6].iter().all(u8::is_ascii_digit);
    text.match_indices("TW")
        .filter(|(at, _)| is_code(&text[*at..]))
        .map(|(at, _)| text[at..at + 6].to_owned())
        .collect()
}

fn codes_in_sources(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(codes_in_sources(&path));
        } else {
            found.extend(codes(&std::fs::read_to_string(&path).expect("a source")));
        }
    }
    found
}

#[test]
fn the_book_has_every_code() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(here.join("../../book/src/diagnostics.md")).expect("the page");
    let (given, explained) = (codes_in_sources(&here.join("src")), codes(&page));
    println!("{} codes", given.len());
    assert!(given.len() >= 40);
    assert_eq!(given, explained);
}
