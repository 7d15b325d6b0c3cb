//! Every kernel source of the workspace through the real compiler, and the cache of what it makes, without a GPU.
//! `bash .ci/nvrtc` provides NVRTC.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thalweg::__private::{Compiled, Header, Kernel, KernelModule, compilations, compile_for, kernels_in};
use thalweg::ErrorKind;
use thalweg_tests::loading::{blur, rotate_2};

const ARCHITECTURES: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_100"];

/// The one that is meant not to compile.
const BROKEN: &str = "broken.cu";

/// Folders whose sources need options or headers of their own: `.ci/cutlass` compiles the one, the tests of `kernel_sources`
/// the other.
const ELSEWHERE: [&str; 2] = ["cutlass/", "sources/"];

/// A text that lives as long as the process.
fn leaked(path: &Path) -> &'static str {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.leak()
}

/// The files below a folder that end so, as paths from it.
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

/// The `.cu` files of a folder of the workspace, each with all headers of the folder.
fn sources(folder: &str) -> Vec<KernelModule> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let header = |path: String| Header { text: leaked(&folder.join(&path)), path: path.leak() };
    let headers: &'static [Header] =
        files(&folder, &["h", "cuh"]).into_iter().map(header).collect::<Vec<_>>().leak();
    let parent = |header: &Header| header.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let include: BTreeSet<&'static str> = headers.iter().map(parent).collect();
    let include: &'static [&'static str] = include.into_iter().collect::<Vec<_>>().leak();
    let module = |path: String| {
        let text = leaked(&folder.join(&path));
        let path: &'static str = path.leak();
        KernelModule::cuda(path, text).including(path, headers, include)
    };
    let mut paths = files(&folder, &["cu"]);
    paths.retain(|path| !ELSEWHERE.iter().any(|folder| path.starts_with(folder)));
    paths.into_iter().map(module).collect()
}

#[test]
#[ignore = "needs NVRTC"]
fn every_source_compiles_for_every_architecture() {
    let folders = ["kernels/cu", "tests/cu", "tests/ui", "examples/examples"];
    let sources: Vec<_> = folders.into_iter().flat_map(sources).collect();
    // Templates have no kernels until they are instantiated.
    let declared = [blur::INFO.module, rotate_2::INFO.module];
    assert!(!rotate_2::INFO.module.instances.is_empty());
    let mut kernels = 0;
    let mut count = 0;
    for module in sources.iter().chain(declared) {
        for architecture in ARCHITECTURES {
            match compile_for(module, architecture) {
                Ok(Compiled { image, .. }) => {
                    assert!(module.file != BROKEN && !image.is_empty(), "{}", module.file);
                    if architecture == ARCHITECTURES[0] {
                        count += 1;
                        kernels += kernels_in(&image).len();
                    }
                }
                Err(error) => {
                    assert_eq!(module.file, BROKEN, "{error}");
                    assert!(
                        matches!(error.kind(), ErrorKind::Compile { log, .. } if log.contains("undeclared"))
                    );
                }
            }
        }
    }
    println!("NVRTC compiled {kernels} kernels of {count} sources for {}", ARCHITECTURES.join(", "));
    assert!(count >= 10 && kernels > count, "only {kernels} kernels of {count} sources");
}

/// Set in a process that compiles what the test gives it, with the folder of the cache as its value.
const CHILD: &str = "THALWEG_CACHE_CHILD";

static HEADERS: [Header; 1] = [Header { path: "include/value.h", text: "#define VALUE 7\n" }];

static MODULE: KernelModule = KernelModule::cuda(
    "cached.cu",
    "#include <value.h>\n#include <cuda_fp16.h>\ntemplate <int N> __global__ void k(__half* x) { x[0] = N + VALUE; }\n",
)
.including("cached.cu", &HEADERS, &["include"])
.instances(&["k<3>", "k<4>"]);

/// A process that compiles [`MODULE`] with the cache in a folder, and says how often it has called the compiler.
fn child(test: &str, cache: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the test's own path"));
    command
        .args(["--exact", test, "--include-ignored", "--nocapture"])
        .env(CHILD, "1")
        .env("THALWEG_CACHE", cache);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a process of [`child`] does; whether this is one.
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
    // The beginning, the version, the key, the first length, the image, the names and the hash.
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
