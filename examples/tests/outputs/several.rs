//! The examples with `--devices all`: on several devices they print what they print on one, and write the
//! same files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{VOLATILE, command, folder_of};

/// What the first lines of an example say, if it has the option.
const SAID: &str = "//! With `-- --devices all` behind it, all GPUs share the chunks.\n";

/// The examples that have the option, with their arguments, and a test of each.
macro_rules! examples {
    ($($example:ident: $arguments:expr),* $(,)?) => {
        const EXAMPLES: &[(&str, &[&str])] = &[$((stringify!($example), &$arguments)),*];

        $(#[test]
        fn $example() {
            let several = [("sim:2", "2 x simulated H200"), ("sim:3", "3 x simulated H200")];
            check(stringify!($example), &$arguments, "sim", &several);
        })*
    };
}
examples! {
    black_scholes: [],
    celsius: [],
    copy_file: [],
    grayscale: [],
    heat: [],
    histogram: [],
    image_batch: [],
    out_of_core_gemm: ["300", "1"],
    parquet_columns: [],
    quickstart: [],
    session: [],
    spectrogram: [],
    tokens: [],
    vector_search: [],
}

/// The GPUs of this machine, if there is one or more.
#[test]
#[ignore = "needs a CUDA device"]
fn each_is_right_on_all_gpus() {
    for (example, arguments) in EXAMPLES {
        check(example, arguments, "cuda:0", &[("cuda:all", "")]);
        println!("{example} is right");
    }
}

/// What an example prints on these devices, and the files that it writes to its folder.
fn run(
    example: &str,
    arguments: &[&str],
    devices: &str,
    folder: &Path,
) -> (String, BTreeMap<PathBuf, Vec<u8>>) {
    // The folder of an earlier test.
    if folder.exists() {
        fs::remove_dir_all(folder).expect("the folder is removed");
    }
    fs::create_dir_all(folder).expect("a folder");
    let mut command = command(example, arguments);
    let output = command.env("THALWEG_DEVICE", devices).current_dir(folder).output().expect(example);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        output.status.success(),
        "{example} on {devices}: {text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (text, files(folder))
}

/// The files in a folder, and in folders there, by their names.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let (path, name) =
            entry.map(|entry| (entry.path(), PathBuf::from(entry.file_name()))).expect("an entry");
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(within, bytes)| (name.join(within), bytes)));
        } else {
            found.insert(name, fs::read(&path).expect("a file"));
        }
    }
    found
}

/// The lines without those that depend on the devices: the reports of runs, and what names a device.
fn results(text: &str) -> Vec<&str> {
    let mut in_report = false;
    let is_result = |line: &&str| {
        in_report = line.contains(" items in ") || in_report && line.starts_with("  ");
        let words = ["device", "simulated", "multiprocessors", "NVIDIA", VOLATILE];
        !in_report && !words.iter().any(|word| line.contains(word))
    };
    text.lines().filter(is_result).collect()
}

/// Compares what an example prints and writes on one device with what it does on several. Each list of them comes
/// with the name that a report has for it.
fn check(example: &str, arguments: &[&str], one: &str, several: &[(&str, &str)]) {
    let folder = |devices: &str| {
        let name = format!("{example}-{}", devices.replace(':', "-"));
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("several").join(name)
    };
    let (text, files) = run(example, arguments, one, &folder(one));
    assert!(!results(&text).is_empty(), "{example}: {text}");
    for (devices, named) in several {
        let on_all = [arguments, &["--devices", "all"]].concat();
        let (on_several, others) = run(example, &on_all, devices, &folder(devices));
        assert_eq!(results(&on_several), results(&text), "{example} on {devices}");
        // `assert_eq!` would print all bytes.
        assert!(others == files, "{example} writes other files on {devices}");
        if text.contains(" items in ") {
            assert!(on_several.contains(named), "{example} on {devices}: {on_several}");
        }
    }
}

/// The first lines of an example and the book say the same.
#[test]
fn each_is_listed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src/examples.md");
    let page = fs::read_to_string(page).expect("a text");
    let (table, section) = page.split_once("\n## On several GPUs\n").expect("a section");
    let section = section.split("\n## ").next().unwrap_or_default();
    let names = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    // `candle` is a workspace of its own.
    for example in names.filter(|name| *name != "candle") {
        let source = folder_of(example).join(example).with_extension("rs");
        let source = fs::read_to_string(source).expect("a text");
        let has_option = EXAMPLES.iter().any(|&(name, _)| name == example);
        assert_eq!(source.contains(SAID), has_option, "the first lines of `{example}`");
        assert_eq!(section.contains(&format!("`{example}`")), has_option, "the book on `{example}`");
    }
}

/// Other values of the option are refused by all that have it.
#[test]
fn other_devices_are_refused() {
    for (example, arguments) in EXAMPLES {
        for wrong in [&["--devices"][..], &["--devices", "two"]] {
            let output = command(example, &[arguments, wrong].concat()).output().expect(example);
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.code() == Some(1) && text.contains("--devices"), "{example}: {text}");
        }
    }
}
