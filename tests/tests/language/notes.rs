//! Code names the notes of `runtime/DECISIONS.md` where they decide something: each note that it names is
//! there, and each is named. The page on the invariants behind `unsafe` names files that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The parts of each note, in this order; a note may have no figures.
const PARTS: [&str; 4] = ["**Context.**", "**Decision.**", "**Measured.**", "**Consequence.**"];

/// The numbers behind `Note `, with their lines.
fn named(text: &str) -> Vec<(usize, u32)> {
    let numbers = |(line, text): (usize, &str)| {
        let after = text.match_indices("Note ").map(|(at, found)| &text[at + found.len()..]);
        let digits =
            after.map(|after| &after[..after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len())]);
        digits.filter_map(|digits| digits.parse().ok()).map(|number| (line + 1, number)).collect::<Vec<_>>()
    };
    text.lines().enumerate().flat_map(numbers).collect()
}

/// The notes by number, each with its text below the title.
fn notes(text: &str) -> Vec<(u32, &str)> {
    let note = |section| {
        let (title, text) = str::split_once(section, '\n')?;
        let (number, _) = title.strip_prefix("Note ")?.split_once(": ")?;
        Some((number.parse().ok()?, text))
    };
    text.split("\n## ").filter_map(note).collect()
}

/// Calls a function with each file of code in this folder and below it.
fn each_file(folder: &Path, file: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            each_file(&path, file);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "toml") {
            file(&path);
        }
    }
}

#[test]
fn notes_and_code_name_each_other() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let text = fs::read_to_string(repository.join("runtime/DECISIONS.md")).expect("the notes");
    let notes: BTreeMap<_, _> = notes(&text).into_iter().collect();
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    let mut look_in = |path: &Path| {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (line, number) in named(&text) {
            known.insert(number);
            if !notes.contains_key(&number) {
                wrong.push(format!("{}:{line}: there is no note {number}", path.display()));
            }
        }
    };
    let crates = ["macros", "macros/compiler", "runtime", "runtime/libraries", "kernels", "tests"];
    for folder in crates.map(|folder| format!("{folder}/src")) {
        each_file(&repository.join(folder), &mut look_in);
    }
    for manifest in ["Cargo.toml", "runtime/Cargo.toml", "tests/Cargo.toml"] {
        look_in(&repository.join(manifest));
    }
    let unnamed = notes.keys().filter(|number| !known.contains(number));
    wrong.extend(unnamed.map(|number| format!("no code names note {number}")));
    assert!(wrong.is_empty() && !notes.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn notes_are_numbered_in_order_and_have_their_parts() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let text = fs::read_to_string(repository.join("runtime/DECISIONS.md")).expect("the notes");
    let notes = notes(&text);
    assert_eq!(notes.len(), text.matches("\n## ").count(), "every section is a note");
    let mut before = 0;
    for (number, text) in notes {
        assert!(number > before, "note {number} comes after note {before}");
        before = number;
        let found: Vec<_> = PARTS.iter().filter_map(|part| text.find(part).map(|at| (at, *part))).collect();
        assert!(found.is_sorted(), "the parts of note {number} are not in order");
        let has = |part| found.iter().any(|(_, other)| *other == part);
        assert!(
            PARTS.iter().all(|part| has(*part) || *part == "**Measured.**"),
            "a part of note {number} is missing"
        );
    }
}

/// It names them by their paths in `runtime/src`, in `tests/tests`, or in the repository.
#[test]
fn the_page_on_unsafe_names_files_that_exist() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let text = fs::read_to_string(repository.join("runtime/UNSAFE.md")).expect("the page");
    let roots = ["runtime/src", "tests/tests", "."].map(|root| repository.join(root));
    let named = text.split('`').skip(1).step_by(2).filter(|name| name.contains('/') || name.ends_with(".rs"));
    let (there, gone): (Vec<_>, Vec<_>) =
        named.partition(|name| roots.iter().any(|root| root.join(name).exists()));
    assert!(there.len() > 40 && gone.is_empty(), "{gone:?} are gone");
}

#[test]
fn numbers_are_read_as_numbers() {
    assert_eq!(named("// Note 12: why.\n\n/// See Note 3, and Note 40."), [(1, 12), (3, 3), (3, 40)]);
    assert_eq!(named("Note that this is none. Notes 5"), []);
    let text = "# Title\n\n## Note 1: one\n\ntext\n\n## Note 7: two\n\nmore\n";
    assert_eq!(notes(text), [(1, "\ntext\n"), (7, "\nmore\n")]);
}
