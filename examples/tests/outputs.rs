//! Every example, run on the simulated device, prints what is recorded of it.
//!
//! `BLESS=1 cargo test -p thalweg-examples` records anew.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the real clock decides is left out of the comparison.
const VOLATILE: &str = "by this machine's clock";

fn check(example: &str, arguments: &[&str]) {
    // `cargo test` builds the examples beside the tests.
    let tests = std::env::current_exe().expect("this test");
    let folder = tests.ancestors().nth(2).expect("the folder of the build").join("examples");
    let output = Command::new(folder.join(example))
        .args(arguments)
        .env("THALWEG_DEVICE", "sim")
        .output()
        .unwrap_or_else(|error| panic!("{example}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let temporary = env!("CARGO_TARGET_TMPDIR");
    let stable: Vec<String> = text.lines().map(|line| stable(line).replace(temporary, "target")).collect();
    let stable = stable.join("\n") + "\n";
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("output/{example}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&recorded, &stable).expect("the record is written");
    }
    let expected = std::fs::read_to_string(&recorded).unwrap_or_default();
    assert_eq!(stable, expected, "BLESS=1 records {} anew", recorded.display());
}

fn stable(line: &str) -> String {
    if line.ends_with(VOLATILE) { format!("  … {VOLATILE}") } else { line.to_owned() }
}

#[test]
fn quickstart() {
    check("quickstart", &[]);
}

#[test]
fn grayscale() {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("grayscale.png");
    let photograph = concat!(env!("CARGO_MANIFEST_DIR"), "/data/astronaut.png");
    check("grayscale", &[photograph, output.to_str().expect("a path in UTF-8")]);
    let picture = image::open(output).expect("the picture").into_luma8();
    assert_eq!(picture.dimensions(), (512, 512));
}

#[test]
fn celsius() {
    check("celsius", &[]);
}
