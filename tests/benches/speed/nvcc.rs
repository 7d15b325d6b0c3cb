//! Libraries of hand-written CUDA C++: built by nvcc where there is one, and loaded.

use std::path::{Path, PathBuf};
use std::process::Command;

use libloading::Library;

/// The variable that names a library which is built already.
pub const PEERS: &str = "PEERS";

/// The folder of a benchmark's sources: where it was built, or else in the repository that is the current folder.
pub fn folder(benchmark: &str) -> PathBuf {
    let [there, here] =
        [env!("CARGO_MANIFEST_DIR"), "tests"].map(|tests| Path::new(tests).join("benches").join(benchmark));
    if there.exists() { there } else { here }
}

/// The file of a benchmark's `peers.cu` as a library: the one that [`PEERS`] names, or else built. `None` where there is
/// neither a library nor nvcc.
pub fn file(benchmark: &str) -> Option<PathBuf> {
    std::env::var_os(PEERS).map(Into::into).or_else(|| build(benchmark))
}

/// Loads such a library, for good.
pub fn load(path: &Path) -> &'static Library {
    // SAFETY: the library is that of `peers.cu`, whose initialisers are those of CUDA's runtime.
    let library = unsafe { Library::new(path) };
    Box::leak(Box::new(library.unwrap_or_else(|error| panic!("{}: {error}", path.display()))))
}

/// The library, made by nvcc; `None` if there is none.
fn build(benchmark: &str) -> Option<PathBuf> {
    let folder = folder(benchmark);
    let library = std::env::temp_dir().join(format!("libpeers-{benchmark}.so"));
    let mut nvcc = Command::new("nvcc");
    nvcc.args(["-std=c++17", "-O3", "-arch=native", "-shared", "-Xcompiler", "-fPIC"]);
    nvcc.args(["-cudart", "static", "-o"]).arg(&library).arg(folder.join("peers.cu"));
    match nvcc.status() {
        Ok(status) if status.success() => Some(library),
        Ok(status) => panic!("nvcc: {status}"),
        Err(error) => {
            eprintln!("no hand-written C++ in this run: nvcc: {error}");
            None
        }
    }
}
