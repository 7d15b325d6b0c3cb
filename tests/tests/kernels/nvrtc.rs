//! Every kernel source of the workspace is compiled by the real compiler, and the cache of its results is
//! tried, without a GPU. `bash .ci/nvrtc` provides NVRTC.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thalweg::__private::Detail;
use thalweg::__private::{Compiled, Header, Kernel, KernelModule, compilations, compile_for, kernels_in};
use thalweg_tests::loading::{blur, rotate_2};
use thalweg_tests::test_name;

const ARCHITECTURES: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

/// Sources that are meant not to compile for some architectures, and the compiler's message then.
const REFUSED: [(&str, &[&str], &str); 7] = [
    ("broken.cu", &ARCHITECTURES, "undeclared"),
    // The macro refuses these, and so does NVRTC.
    ("host/unclosed.cu", &ARCHITECTURES, "expected a \"}\""),
    ("host/program.cu", &ARCHITECTURES, "host functions are not allowed"),
    ("host/headers.cu", &ARCHITECTURES, "cannot open source file \"iostream\""),
    ("sources/tile.cu", &ARCHITECTURES, "uses too much shared data"),
    ("sources/pairs.cu", &["sm_75", "sm_80"], "__cluster_dims__ is not supported"),
    ("sources/together.cu", &["sm_75", "sm_80"], "requires .target sm_90"),
];

/// The options that sources need, and the instances of their templates.
const NEEDS: [(&str, &[&str], &[&str]); 4] = [
    ("by_hand/map.cu", &[], &["scale<float>", "scale<double>", "exponential<float>", "exponential<double>"]),
    ("sources/steps.cu", &["-DSCALE=2.0f"], &[]),
    ("sources/templates.cu", &[], &["math::power<float>", "math::power<double, 3>", "math::negate"]),
    ("sources/power.cu", &[], &["math::power<float, 3>"]),
];

/// Folders whose sources need CUTLASS, or are whole programs: `.ci/cutlass` compiles them.
const ELSEWHERE: [&str; 2] = ["cutlass/", "others/"];

/// A text that lives as long as the process.
fn leaked(path: &Path) -> &'static str {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.leak()
}

/// The files in this folder and below it whose names have this extension, as paths from it.
fn files(folder: &Path, endings: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(folder.join(&below)).expect("a folder") {
            let entry = entry.expect("an entry");
            let path = below.join(entry.file_name());
            if entry.path().is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| endings.iter().any(|wanted| ending == *wanted)) {
                found.push(path.to_str().expect("a path").to_owned());
            }
        }
    }
    found.sort();
    found
}

/// The `.cu` files of a folder of the workspace, each with all headers of the folder. The headers are looked
/// for in all folders that they are in.
fn sources(folder: &str) -> Vec<KernelModule> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let header = |path: String| Header { text: leaked(&folder.join(&path)), path: path.leak() };
    let headers: &'static [Header] =
        files(&folder, &["h", "cuh"]).into_iter().map(header).collect::<Vec<_>>().leak();
    let parent = |path: &&'static str| path.rsplit_once('/').map(|(folder, _)| folder);
    let parents = |header: &Header| std::iter::successors(parent(&header.path), parent);
    let include: BTreeSet<&'static str> = headers.iter().flat_map(parents).collect();
    let include: &'static [&'static str] = include.into_iter().collect::<Vec<_>>().leak();
    let module = |path: String| {
        let text = leaked(&folder.join(&path));
        let path: &'static str = path.leak();
        let (_, options, instances) =
            NEEDS.into_iter().find(|(of, ..)| *of == path).unwrap_or((path, &[], &[]));
        KernelModule::cuda(path, text).including(path, headers, include).options(options).instances(instances)
    };
    let mut paths = files(&folder, &["cu"]);
    paths.retain(|path| !ELSEWHERE.iter().any(|folder| path.starts_with(folder)));
    paths.into_iter().map(module).collect()
}

#[test]
#[ignore = "needs NVRTC"]
fn every_source_compiles_for_every_architecture() {
    let folders = ["kernels/cu", "tests/cu", "tests/ui", "examples/examples", "tests/tests/tutorial"];
    let sources: Vec<_> = folders.into_iter().flat_map(sources).collect();
    // Templates have no kernels until they are instantiated.
    let declared = [blur::INFO.module, rotate_2::INFO.module];
    assert_eq!(rotate_2::INFO.module.instances.len(), 2);
    let mut kernels = 0;
    let mut count = 0;
    for module in sources.iter().chain(declared) {
        for architecture in ARCHITECTURES {
            let mut refused = REFUSED.iter().filter(|(file, ..)| *file == module.file);
            let refused = refused.find(|(_, architectures, _)| architectures.contains(&architecture));
            match (compile_for(module, architecture), refused) {
                (Ok(Compiled { image, .. }), None) => {
                    let found = kernels_in(&image).len();
                    assert!(found >= module.instances.len(), "{}: {found} kernels", module.file);
                    if architecture == ARCHITECTURES[2] {
                        count += 1;
                        kernels += found;
                    }
                }
                (Ok(_), Some(_)) => panic!("{} compiles for {architecture}", module.file),
                (Err(error), refused) => {
                    let said = refused.unwrap_or_else(|| panic!("{architecture}: {error}")).2;
                    let Detail::Compile { log, .. } = error.detail() else { panic!("{error}") };
                    assert!(log.contains(said), "{}, {architecture}: {log}", module.file);
                }
            }
        }
    }
    println!("NVRTC compiled {kernels} kernels of {count} sources for {}", ARCHITECTURES.join(", "));
    assert!(count >= 10 && kernels > count, "only {kernels} kernels of {count} sources");
}

/// NVRTC agrees with the macro's lists of headers, each alone.
#[test]
#[ignore = "needs NVRTC"]
fn headers_are_there_as_the_compiler_says() {
    let compiles = |header: &str| {
        let source = format!("#include <{header}>\nextern \"C\" __global__ void k(int* x) {{ *x = 1; }}\n");
        compile_for(&KernelModule::cuda("k.cu", source.leak()), ARCHITECTURES[2])
    };
    let (there, not_for_devices) = thalweg_compiler::cuda_source::headers();
    // cuRAND's headers are in a package of their own.
    let of_this_package: Vec<_> = there.iter().filter(|header| !header.starts_with("curand")).collect();
    for header in &of_this_package {
        compiles(header).unwrap_or_else(|error| panic!("{header}: {error}"));
    }
    let wrongly: Vec<_> = not_for_devices.iter().filter(|header| compiles(header).is_ok()).collect();
    assert!(wrongly.is_empty(), "these compile: {wrongly:?}");
    println!("{} headers compile, {} do not", of_this_package.len(), not_for_devices.len());
    assert!(of_this_package.len() > 60 && not_for_devices.len() > 100);
}

/// Set in a process that compiles the source of the test; its value is the folder of the cache.
const CHILD: &str = "THALWEG_CACHE_CHILD";

static HEADERS: [Header; 1] = [Header { path: "include/value.h", text: "#define VALUE 7\n" }];

static MODULE: KernelModule = KernelModule::cuda(
    "cached.cu",
    "#include <value.h>\n#include <cuda_fp16.h>\ntemplate <int N> __global__ void k(__half* x) { x[0] = N + VALUE; }\n",
)
.including("cached.cu", &HEADERS, &["include"])
.instances(&["k<3>", "k<4>"]);

/// A process that compiles [`MODULE`] with the cache in a folder, and reports how often it has called the
/// compiler.
fn child(test: &str, cache: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
    command
        .args(["--exact", &test_name(module_path!(), test), "--include-ignored", "--nocapture"])
        .env(CHILD, "1")
        .env("THALWEG_CACHE", cache);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The work of a process of [`child`]; returns whether this is one.
fn is_child() -> bool {
    if std::env::var_os(CHILD).is_none() {
        return false;
    }
    let compiled = compile_for(&MODULE, "sm_90").expect("it compiles");
    let names: BTreeSet<_> = compiled.names.iter().map(|(_, lowered)| lowered.clone()).collect();
    assert_eq!(names, kernels_in(&compiled.image).into_iter().collect(), "the names are the image's");
    println!("compilations: {}", compilations());
    true
}

fn compilations_of(output: std::process::Output) -> u64 {
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    let line = text.lines().find_map(|line| line.strip_prefix("compilations: "));
    line.unwrap_or_else(|| panic!("{text}")).parse().expect("a number")
}

#[test]
#[ignore = "needs NVRTC"]
fn a_damaged_cache_is_compiled_anew() {
    let test = "a_damaged_cache_is_compiled_anew";
    if is_child() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let run = || compilations_of(child(test, &cache).output().unwrap());
    assert_eq!((run(), run()), (1, 0), "the second process compiles nothing");
    let file = fs::read_dir(&cache).unwrap().next().unwrap().unwrap().path();
    let good = fs::read(&file).unwrap();
    // These are the beginning, the version, the key, the first length, the image, the names and the hash.
    for at in [0, 17, 30, 53, 60, good.len() / 2, good.len() - 100, good.len() - 33, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&file, bad).unwrap();
        assert_eq!((run(), fs::read(&file).unwrap() == good), (1, true), "byte {at} of {}", good.len());
    }
    for length in [0, 1, 52, good.len() / 2, good.len() - 1] {
        fs::write(&file, &good[..length]).unwrap();
        assert_eq!(run(), 1, "{length} bytes");
    }
    assert_eq!(run(), 0);
}

#[test]
#[ignore = "needs NVRTC"]
fn processes_share_a_cache() {
    let test = "processes_share_a_cache";
    if is_child() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let start = |_| child(test, folder.path()).spawn().unwrap();
    let children: Vec<_> = (0..8).map(start).collect();
    let each: Vec<_> =
        children.into_iter().map(|child| compilations_of(child.wait_with_output().unwrap())).collect();
    assert!(each.iter().all(|&compilations| compilations <= 1) && each.contains(&1), "{each:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "one file, and nothing unfinished");
    assert_eq!(compilations_of(child(test, folder.path()).output().unwrap()), 0);
}
