//! Every example, run on the simulated device, prints what is recorded of it.
//!
//! `BLESS=1 cargo test -p thalweg-examples` records anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "outputs/bad_input.rs"]
mod bad_input;
#[path = "outputs/gemm.rs"]
mod gemm;
#[path = "outputs/options.rs"]
mod options;
#[cfg(unix)]
#[path = "outputs/ranks.rs"]
mod ranks;
#[path = "outputs/several.rs"]
mod several;

/// Lines that the real clock decides are left out of the comparison.
const VOLATILE: &str = "by this machine's clock";

/// Where an example lies. `quickstart`, which is the first thing that a reader compiles, lies in the package
/// with the fewest dependencies.
fn folder_of(example: &str) -> PathBuf {
    let folder = if example == "quickstart" { "../kernels/examples" } else { "examples" };
    Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)
}

/// The built example, on the simulated device.
fn command(example: &str, arguments: &[&str]) -> Command {
    // `cargo test` builds the examples beside the tests.
    let tests = std::env::current_exe().expect("this test");
    let folder = tests.ancestors().nth(2).expect("the folder of the build").join("examples");
    let program = folder.join(example);
    // `--test outputs` alone builds none.
    let written = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
    let source = folder_of(example).join(example).with_extension("rs");
    assert!(written(&program) >= written(&source), "`cargo build --examples` first");
    let mut command = Command::new(program);
    command.args(arguments).env("THALWEG_DEVICE", "sim");
    command
}

/// The program's output and its exit status.
fn output(example: &str, arguments: &[&str]) -> Output {
    command(example, arguments).output().unwrap_or_else(|error| panic!("{example}: {error}"))
}

fn check(example: &str, arguments: &[&str]) {
    let output = output(example, arguments);
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

/// The picture that an example has written, and that the book shows.
fn shown(written: &Path, name: &str) {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../book/src").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::copy(written, &recorded).expect("the picture is copied");
    }
    let [written, recorded] =
        [written, &recorded].map(|path| image::open(path).expect("a picture").into_rgb8());
    assert_eq!(written.dimensions(), recorded.dimensions());
    // Colours are rounded: the last bit of a logarithm may change one a little.
    let differ = written.iter().zip(recorded.iter()).filter(|(a, b)| a.abs_diff(**b) > 3).count();
    assert_eq!(differ, 0, "BLESS=1 copies {name} anew");
}

/// The book and the README list every example.
#[test]
fn each_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(folder.join(path)).expect("a text");
    let (readme, page) = (read("../README.md"), read("../book/src/examples.md"));
    for of in ["examples", "kernels"] {
        let entries = std::fs::read_dir(folder.join("..").join(of).join("examples")).expect("the examples");
        let files = entries.map(|entry| entry.expect("an example").path());
        for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")) {
            let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
            assert!(page.contains(&format!("\n| `{name}` |")), "the book's page has no `{name}`");
            let link = format!("[`{name}`]({of}/examples/{name}.rs)");
            assert!(readme.contains(&link), "the README has no {link}");
        }
    }
}

fn stable(line: &str) -> String {
    if line.ends_with(VOLATILE) { format!("  … {VOLATILE}") } else { line.to_owned() }
}

#[test]
fn quickstart() {
    check("quickstart", &[]);
}

/// The README shows the program that is compiled here.
#[test]
fn saxpy() {
    let read = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let readme = read("../README.md");
    let block = format!("```rust\n{}```\n", read("examples/saxpy.rs"));
    assert!(readme.contains(&block), "the README shows another program");
    // The crate's own page begins as the README does. A picture beside the README is not on that page.
    let screen = readme.split_once("# Thalweg\n\n").expect("a title").1;
    let screen = screen.split_once("## Try it").expect("what to try").0;
    let screen: Vec<_> = screen.split("\n\n").filter(|paragraph| !paragraph.starts_with("![")).collect();
    assert_eq!(read("../runtime/src/first-screen.md"), screen.join("\n\n"), "the crate's page is another");
    check("saxpy", &[]);
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

#[test]
fn copy_file() {
    check("copy_file", &[]);
}

/// Copies from disk to disk, in less memory than any of the files takes.
#[cfg(target_os = "linux")]
#[test]
fn files_larger_than_memory() {
    let peak = |samples: usize, limit: Option<u64>| -> [u64; 2] {
        let copy = command("copy_file", &[]);
        let limited = limit.map_or(String::new(), |kib| format!("ulimit -v {kib} && "));
        let Output { status, stdout, stderr } = Command::new("bash")
            .args(["-c", &format!("{limited}exec \"$0\" --peak --samples {samples}")])
            .arg(copy.get_program())
            .env("THALWEG_DEVICE", "sim")
            // A heap for each thread would take 64 MiB of addresses, without using them.
            .env("MALLOC_ARENA_MAX", "1")
            .output()
            .expect("bash");
        let text = String::from_utf8_lossy(&stdout);
        assert!(status.success(), "{text}{}", String::from_utf8_lossy(&stderr));
        assert!(text.contains(&format!("{samples} samples mixed, each of them right")), "{text}");
        ["VmPeak:", "VmHWM:"].map(|name| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a peak");
            line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
        })
    };
    const MIB: u64 = 1 << 10;
    let [addresses, memory] = peak(1 << 18, None);
    // Each of the three files has 128 MiB, and this run 16 MiB more than one on files of 1 MiB.
    let [more_addresses, more_memory] = peak(1 << 25, Some(addresses + 16 * MIB));
    assert!(more_addresses <= addresses + 16 * MIB, "{more_addresses} KiB, and {addresses}");
    assert!(more_memory <= memory + 16 * MIB, "{more_memory} KiB, and {memory}");
}

#[test]
fn parquet_columns() {
    check("parquet_columns", &[]);
}

#[test]
fn tokio_job() {
    check("tokio_job", &[]);
}

#[test]
fn next_batch() {
    check("next_batch", &[]);
}

#[test]
fn session() {
    check("session", &[]);
}

#[test]
fn out_of_core_gemm() {
    check("out_of_core_gemm", &["300", "1"]);
}

#[test]
fn vector_search() {
    check("vector_search", &[]);
}

#[test]
fn timeline() {
    let [svg, png, trace] = ["timeline.svg", "timeline.png", "timeline.json"].map(|name| {
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name).to_str().expect("UTF-8").to_owned()
    });
    check("timeline", &["--svg", &svg, "--png", &png, "--trace", &trace]);
    let read = |path: &str| std::fs::read_to_string(path).expect("a text");
    assert!(read(&svg).starts_with("<svg ") && read(&svg).trim_end().ends_with("</svg>"));
    assert!(read(&trace).contains("\"traceEvents\""));
    assert_eq!(image::open(&png).expect("the picture").width(), 1000);
}

/// Each option does what it says, in words of the output.
#[test]
fn timeline_has_options() {
    for (arguments, said) in [
        (&["--items", "0"][..], "no items"),
        (&["--items", "5000", "--chunk=1000", "--depth", "2"], "5 chunks of 1000 items, depth 2"),
        (&["--items", "300000", "--spec", "t4"], "Saxpy on simulated T4, "),
        (&["--items", "300000", "--pageable"], "`x`, `y` are in ordinary memory, staged by the CPU"),
    ] {
        let Output { status, stdout, stderr } = output("timeline", arguments);
        let text = String::from_utf8_lossy(&stdout);
        assert!(status.success() && text.contains(said), "{text}{}", String::from_utf8_lossy(&stderr));
        assert!(text.contains(", predicted, ") && text.contains(", measured, "), "{text}");
        let predicted = output("timeline", &[arguments, &["--predict"]].concat()).stdout;
        let predicted = String::from_utf8_lossy(&predicted);
        assert!(predicted.contains(said) && !predicted.contains("measured"), "{predicted}");
    }
}

#[test]
fn timeline_says_how_it_is_used() {
    for (arguments, said) in [
        (&["--items", "many"][..], "expected a number from 0 to 1073741824"),
        (&["--items", "1073741825"], "expected a number from 0 to 1073741824"),
        (&["--chunk", "0"], "expected a number from 1 to 1073741824"),
        (&["--depth", "1025"], "expected a number from 1 to 1024"),
        (&["--depth"], "--depth"),
        (&["--spec", "nowhere.toml"], "nowhere.toml"),
        (&["--fast"], "--fast"),
        (&["fast"], "fast"),
        (&["--predict=yes"], "--predict"),
    ] {
        let Output { status, stdout, stderr } = output("timeline", arguments);
        let text = String::from_utf8_lossy(&stderr);
        assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{arguments:?}: {text}");
        assert!(text.contains(said) && text.contains("\nusage: timeline [--items N]"), "{text}");
    }
    let nowhere = concat!(env!("CARGO_TARGET_TMPDIR"), "/nowhere/timeline.svg");
    let (code, text) = ended("timeline", &["--items", "0", "--svg", nowhere]);
    assert!(code == Some(1) && text.starts_with('`') && text.contains("cannot be written"), "{text}");
}

/// The program's exit code and its last line.
fn ended(example: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = output(example, arguments);
    let text = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    (status.code(), text.lines().last().unwrap_or_default().to_owned())
}

#[test]
fn what_has_no_elements_is_done() {
    let all_right = "100 entries against sums in f64: all right".to_owned();
    assert_eq!(ended("out_of_core_gemm", &["0"]), (Some(0), all_right.clone()));
    assert_eq!(ended("out_of_core_gemm", &["1"]), (Some(0), all_right.clone()));
    assert_eq!(ended("out_of_core_gemm", &["3", "99999999999999999"]), (Some(0), all_right));
    let all_found = "recall against a plain loop: 1.000".to_owned();
    assert_eq!(ended("vector_search", &["0"]), (Some(0), all_found.clone()));
    assert_eq!(ended("vector_search", &["3", "2", "99999999999999999"]), (Some(0), all_found));
}

#[test]
fn arguments_that_are_no_numbers_are_refused() {
    for example in ["out_of_core_gemm", "vector_search"] {
        for arguments in [&["many"][..], &["-3"], &["8", ""]] {
            let (code, text) = ended(example, arguments);
            assert!(
                code == Some(1) && text.starts_with("Error: \"`"),
                "{example} {arguments:?}: {code:?} {text}"
            );
        }
    }
    for dimensions in ["0", "65537", "9999999999999999999"] {
        let text = format!(r#"Error: "`{dimensions}`: a vector has 1 to 65536 dimensions""#);
        assert_eq!(ended("vector_search", &["3", dimensions]), (Some(1), text));
    }
    let text = r#"Error: "so large a matrix has no address""#.to_owned();
    assert_eq!(ended("out_of_core_gemm", &["99999999999"]), (Some(1), text));
}

#[test]
fn spectrogram() {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("spectrogram.png");
    let sound = concat!(env!("CARGO_MANIFEST_DIR"), "/data/guitar_slide.wav");
    check("spectrogram", &[sound, output.to_str().expect("a path in UTF-8")]);
    shown(&output, "spectrogram.png");
    let picture = image::open(output).expect("the picture").into_rgb8();
    // A hop of 64 samples is a column, a bin of 13.9 Hz a row, and the margins have 8 pixels.
    assert_eq!(picture.dimensions(), (541 + 8, 289 + 8));
    let pixel = |seconds: f64, hertz: f64| {
        let (x, y) = ((seconds * 125.0) as u32 + 8, 288 - (hertz * 576.0 / 8000.0).round() as u32);
        picture[(x, y)].0
    };
    // The note e'' at first, and in the end silence.
    assert!(pixel(0.15, 659.3)[0] > 220, "{:?}", pixel(0.15, 659.3));
    assert!(pixel(4.0, 3500.0).iter().all(|&part| part < 20), "{:?}", pixel(4.0, 3500.0));
}

#[test]
fn image_batch() {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("edges");
    let photographs = concat!(env!("CARGO_MANIFEST_DIR"), "/data/photographs");
    check("image_batch", &[photographs, output.to_str().expect("a path in UTF-8")]);
    let edges = |name: &str| image::open(output.join(name)).expect("the picture").into_luma8();
    for (name, size) in
        [("cat.jpg.png", (320, 213)), ("coffee.jpg.png", (320, 213)), ("rocket.jpg.png", (180, 240))]
    {
        assert_eq!(edges(name).dimensions(), size, "{name}");
    }
    let camera = edges("camera.png.png");
    let sum: u64 = camera.iter().copied().map(u64::from).sum();
    assert_eq!((camera.dimensions(), sum), ((240, 240), 1_746_764));
}

#[test]
fn heat() {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("heat.png");
    check("heat", &[output.to_str().expect("a path in UTF-8")]);
    shown(&output, "heat.png");
    let picture = image::open(output).expect("the picture").into_rgb8();
    assert_eq!(picture.dimensions(), (4 * 324 + 3 * 10, 324));
    // Each of the four plates is colder the farther from the edge, up to where no heat has arrived.
    let red = |plate: u32, y: u32| picture[(plate * 334 + 161, y)][0];
    for plate in 0..4 {
        assert!(red(plate, 2) > 200 && red(plate, 2) > red(plate, 82) && red(plate, 318) < 30, "{plate}");
        assert!(plate == 0 || red(plate, 82) > red(plate - 1, 82), "{plate}");
    }
}

#[test]
fn heat_ranks() {
    check("heat_ranks", &[]);
}

#[test]
fn train_ranks() {
    check("train_ranks", &[]);
}

#[test]
fn frames() {
    let output = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("frames.png");
    check("frames", &[output.to_str().expect("a path in UTF-8")]);
    let picture = image::open(output).expect("the picture").into_rgb8();
    assert_eq!(picture.dimensions(), (4 * 256, 2 * 144));
    // Below, nothing has changed where the camera stands still.
    let changes = |phase: u32| {
        let places = (phase * 256..(phase + 1) * 256).flat_map(|x| (144..288).map(move |y| (x, y)));
        places.map(|place| u32::from(picture[place][0])).sum::<u32>()
    };
    assert_eq!([0, 3].map(changes), [0, 0]);
    assert!(0 < changes(1) && changes(1) < changes(2));
}

#[test]
fn saxpy_expanded() {
    check("saxpy-expanded", &[]);
}

#[test]
fn histogram() {
    check("histogram", &[]);
    // A file that is not a picture.
    let (code, text) = ended("histogram", &[concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert!(code == Some(1) && text.starts_with("Error: "), "{text}");
}

#[test]
fn tokens() {
    check("tokens", &[]);
}

/// Each example checks its results, and ends with an error if they are wrong.
#[test]
#[ignore = "needs a CUDA device"]
fn each_is_right_on_a_gpu() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let picture = folder.join("gpu.png").to_str().expect("UTF-8").to_owned();
    let edges = folder.join("gpu-edges").to_str().expect("UTF-8").to_owned();
    let table = folder.join("gpu.parquet").to_str().expect("UTF-8").to_owned();
    let data = |name: &str| format!("{}/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let [options, photograph, photographs, sound] =
        ["dax_options.parquet", "astronaut.png", "photographs", "guitar_slide.wav"].map(data);
    let examples: [(&str, &[&str]); 22] = [
        ("black_scholes", &[&options, &table]),
        ("celsius", &[]),
        ("copy_file", &[]),
        ("frames", &[&picture]),
        ("grayscale", &[&photograph, &picture]),
        ("heat", &[&picture]),
        ("heat_ranks", &[]),
        ("histogram", &[]),
        ("image_batch", &[&photographs, &edges]),
        ("next_batch", &[]),
        ("out_of_core_gemm", &["300", "1"]),
        ("parquet_columns", &[]),
        ("quickstart", &[]),
        ("saxpy", &[]),
        ("saxpy-expanded", &[]),
        ("session", &[]),
        ("spectrogram", &[&sound, &picture]),
        ("timeline", &[]),
        ("tokens", &[]),
        ("tokio_job", &[]),
        ("train_ranks", &[]),
        ("vector_search", &[]),
    ];
    for (example, arguments) in examples {
        let output = command(example, arguments).env("THALWEG_DEVICE", "cuda:0").output().expect(example);
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{example}: {text}");
        println!("{example} is right");
    }
}
