//! The test programs are listed by hand, so a file that none of them names would never be compiled.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules that a file declares.
fn modules(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let named = text.lines().filter_map(|line| {
        let line = line.trim();
        line.strip_prefix("pub(crate) ").unwrap_or(line).strip_prefix("mod ")?.strip_suffix(';')
    });
    named.map(str::to_owned).collect()
}

/// The file that declares the modules of a folder: a program's, or the one with the folder's name beside it.
fn parent(folder: &Path) -> Option<PathBuf> {
    let candidates = [folder.join("main.rs"), folder.join("mod.rs"), folder.with_extension("rs")];
    candidates.into_iter().find(|file| file.is_file())
}

/// The files in this folder and below it that no file declares.
fn forgotten(folder: &Path, into: &mut Vec<PathBuf>) {
    let declared = parent(folder).map(|parent| modules(&parent)).unwrap_or_default();
    for entry in fs::read_dir(folder).expect("a folder of tests") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() {
            let holds_code = parent(&path).is_some();
            if holds_code && !path.join("main.rs").is_file() && !declared.contains(&stem) {
                into.push(path.clone());
            }
            if holds_code {
                forgotten(&path, into);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !["main", "mod"].contains(&stem.as_str())
            && !declared.contains(&stem)
        {
            into.push(path);
        }
    }
}

#[test]
fn every_file_belongs_to_a_program() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(package.join("Cargo.toml")).expect("the manifest");
    let mut left = Vec::new();
    for entry in fs::read_dir(package.join("tests")).expect("the tests") {
        let path = entry.expect("an entry").path();
        let relative = path.strip_prefix(package).expect("below it").display().to_string();
        let program = if path.is_dir() { format!("{relative}/main.rs") } else { relative };
        assert!(manifest.contains(&format!("path = \"{program}\"")), "no [[test]] has the path {program}");
        if path.is_dir() {
            forgotten(&path, &mut left);
        }
    }
    assert!(left.is_empty(), "no `mod` names these: {left:#?}");
}
