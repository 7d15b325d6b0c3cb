//! Misuse of the macros: the compiler's messages, to the letter.
//!
//! Each case in `ui/` is one misuse; its first line says which. `TRYBUILD=overwrite` writes the `.stderr`
//! files anew: read them before you keep them. In `ui/rustc/` words are rustc's own, around our warnings too,
//! so that those cases run on one version only.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says what was tried, past the harness, which keeps what a test that passes prints.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stderr(), $($text)*).expect("a line on the terminal");
    }};
}

/// The rustc whose words `ui/rustc/*.stderr` hold.
const BLESSED: &str = "1.95";

#[test]
fn ours() {
    trybuild::TestCases::new().compile_fail("ui/*.rs");
}

#[test]
fn rustcs() {
    let version = rustc_version();
    if is_blessed(&version) {
        trybuild::TestCases::new().compile_fail("ui/rustc/*.rs");
    } else {
        println!("not run: `ui/rustc` holds the words of rustc {BLESSED}, and this is {version}");
    }
}

#[test]
fn the_version_is_told_apart() {
    assert!(is_blessed("1.95.0"));
    assert!(is_blessed("1.95.1-beta.2"));
    assert!(!is_blessed("1.9.0"));
    assert!(!is_blessed("1.950.0"));
}

/// A case without its `.stderr` would be blessed with any message of the compiler; a `.stderr` without its
/// case is stale.
#[test]
fn every_case_has_its_stderr_and_no_other_is_there() {
    for folder in ["ui", "ui/rustc"] {
        assert_eq!(stems(folder, "rs"), stems(folder, "stderr"), "cases and `.stderr` files of {folder}");
    }
}

#[test]
fn every_case_says_what_is_misused() {
    for case in ["ui", "ui/rustc"].into_iter().flat_map(|folder| files(folder, "rs")) {
        let text = std::fs::read_to_string(&case).expect("a case can be read");
        let first = text.lines().next().unwrap_or_default();
        let said = first.strip_prefix("// ").unwrap_or_default();
        assert!(
            said.ends_with('.'),
            "the first line of {} is to say what is misused: {first}",
            case.display()
        );
        let name = case.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        assert!(name.contains('-'), "{name} is to be called <area>-<misuse>");
    }
}

/// One problem is one error, and none follows outside the macro. Our errors have a code.
#[test]
fn one_problem_is_one_error() {
    // The cases with more than one error, and their numbers. Some show two mistakes or more. For some, rustc reports
    // the type and the type's method, or reports the mistake in two macros. For one it reports the factors,
    // the result and `alpha`. For two without a first argument it reports that, and that the next one is no
    // such argument. For one it reports two derives, and the type that has neither. For one, rustc refuses
    // the type by itself before we say which one to import. For one it reports each item that an `impl` has no
    // room for.
    const SEVERAL: [(&str, usize); 23] = [
        ("two-mistakes", 2),
        ("syntax-two-errors", 2),
        ("shape-element-not-plain-data", 2),
        ("shape-element-of-a-struct", 2),
        ("kernel-element-of-a-struct", 2),
        ("call-gemm-integers", 3),
        ("run-without-parameter", 2),
        ("kernel-host-body-first", 2),
        ("shape-element-derives-without-crate", 3),
        ("shape-half-without-an-import", 2),
        ("in-rust-launch-of-a-device-function", 2),
        ("in-rust-index-passed", 2),
        ("in-rust-in-an-impl", 4),
        ("in-rust-instance-absent", 2),
        ("in-rust-changed-by-parts", 2),
        ("in-rust-element-of-a-phase", 3),
        ("in-rust-phase-arguments", 2),
        ("in-rust-instance-mismatch", 3),
        ("in-rust-atomic-methods", 6),
        ("in-rust-atomic-order", 4),
        ("in-rust-atomic-outside", 4),
        ("in-rust-any-without-unsafe", 2),
        ("in-rust-unsafe-unused", 2),
    ];
    for stderr in files("ui", "stderr").into_iter().chain(files("ui/rustc", "stderr")) {
        let name = stderr.file_stem().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        let text = std::fs::read_to_string(&stderr).expect("a `.stderr` can be read");
        let starts = |line: &&str| line.starts_with("error") || line.starts_with("warning");
        let errors: Vec<_> = text.lines().filter(starts).collect();
        let expected = SEVERAL.iter().find(|(several, _)| *several == name).map_or(1, |(_, count)| *count);
        assert_eq!(errors.len(), expected, "{name}: {errors:?}");
        let ours =
            stderr.parent().is_some_and(|folder| folder.ends_with("ui")) || name.starts_with("warning-");
        assert!(!ours || errors.iter().all(|line| line.contains("TW")), "{name}: {errors:?}");
    }
}

/// The typical mistakes with streams by hand, from tutorials and experience, and the cases that cannot be
/// compiled.
const PITFALLS: [(&str, &[&str]); 13] = [
    (
        "a result is used before the device has been waited for",
        &["rustc/run-result-used-before-it-is-complete", "rustc/then-reads-a-buffer"],
    ),
    ("a copy is read on another stream that does not wait for it", &["manual-read-after-write"]),
    ("a host buffer is changed while its copy is in flight", &["rustc/run-input-changed-in-flight"]),
    ("a host buffer is freed while its copy is in flight", &["rustc/run-input-dropped-in-flight"]),
    (
        "pageable memory in an asynchronous copy",
        &["rustc/run-vec-for-pinned-input", "rustc/run-vec-for-pinned-output"],
    ),
    ("pageable memory in a kernel", &["rustc/run-vec-for-mapped-input", "launch-host-data"]),
    ("a block of more than 1,024 threads", &["launch-block-of-2048", "launch-block-product"]),
    ("a launch has too few or too many parameters", &["launch-one-value", "launch-five-values"]),
    (
        "a kernel has too few or too many arguments",
        &["rustc/launch-too-few-arguments", "rustc/launch-too-many-arguments"],
    ),
    ("a host function calls CUDA", &["rustc/host-function-calls-cuda"]),
    ("an event is waited for, but never recorded", &["manual-never-recorded"]),
    ("streams wait for each other", &["manual-cycle"]),
    (
        "a race: each kind of two accesses, within a chunk and from chunk to chunk",
        &[
            "manual-read-after-write",
            "manual-write-after-read",
            "manual-write-after-write",
            "manual-write-after-read-of-the-slot",
            "manual-carry",
        ],
    ),
];

#[test]
fn every_pitfall_has_a_case() {
    for (pitfall, cases) in PITFALLS {
        for case in cases {
            let stderr = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("ui/{case}.stderr"));
            let text = std::fs::read_to_string(stderr).unwrap_or_default();
            assert!(text.starts_with("error"), "{pitfall}: {case} is no error");
        }
    }
}

/// There are enough of them, and each is a case of its own.
#[test]
fn so_much_is_refused() {
    let is_warning = |path: &&PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("warning-"))
    };
    let (ours, rustcs) = (files("ui", "stderr"), files("ui/rustc", "stderr"));
    let warnings = rustcs.iter().filter(is_warning).count();
    let (ours_count, rustcs_count) = (ours.len(), rustcs.len() - warnings);
    let mut codes = BTreeSet::new();
    for stderr in ours.iter().chain(&rustcs) {
        let text = std::fs::read_to_string(stderr).expect("a `.stderr` can be read");
        let at = text.match_indices("TW").map(|(at, _)| &text[at..]);
        codes.extend(at.filter_map(|code| code.get(..6)).map(str::to_owned));
    }
    say!(
        "{ours_count} errors in our words, {rustcs_count} in rustc's, {warnings} warnings; {} codes",
        codes.len()
    );
    assert!(ours_count + rustcs_count >= 70, "{ours_count} and {rustcs_count} errors");
    assert!(warnings >= 15, "{warnings} warnings");
}

/// `1.95.0`
fn rustc_version() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output().expect("rustc can be asked for its version");
    let text = String::from_utf8(output.stdout).expect("rustc's version is text");
    let version = text.strip_prefix("rustc ").and_then(|rest| rest.split_whitespace().next());
    version.unwrap_or_else(|| panic!("`{text}` is no version of rustc")).to_owned()
}

fn is_blessed(version: &str) -> bool {
    version.strip_prefix(BLESSED).is_some_and(|rest| rest.starts_with('.'))
}

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(&folder).expect("the cases can be listed");
    let mut files: Vec<_> = entries
        .map(|entry| entry.expect("the cases can be listed").path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    assert!(!files.is_empty(), "{} has no .{extension}", folder.display());
    files.sort();
    files
}

fn stems(folder: &str, extension: &str) -> BTreeSet<String> {
    let stem = |path: PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    files(folder, extension).into_iter().map(stem).collect()
}
