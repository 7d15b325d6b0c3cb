//! Looks for CUDA's libraries without the panics that cudarc has for their absence.

use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::{driver, get_lib_name_candidates, nvrtc};
use libloading::Library;

/// CUDA's driver library, or the names under which it was looked for.
pub(super) fn cuda_driver() -> Result<&'static Library, Vec<String>> {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: loading the library runs its initialisers, which for CUDA's driver have no preconditions.
    if *PRESENT.get_or_init(|| unsafe { driver::sys::is_culib_present() }) {
        // SAFETY: as above; it is present, so that this does not panic.
        Ok(unsafe { driver::sys::culib() })
    } else {
        Err(names(&["cuda", "nvcuda"]))
    }
}

/// NVRTC, or the names under which it was looked for.
pub(super) fn nvrtc() -> Result<&'static Library, Vec<String>> {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: loading the library runs its initialisers, which for NVRTC have no preconditions.
    if *PRESENT.get_or_init(|| unsafe { nvrtc::sys::is_culib_present() }) {
        // SAFETY: as above; it is present, so that this does not panic.
        Ok(unsafe { nvrtc::sys::culib() })
    } else {
        Err(names(&["nvrtc"]))
    }
}

/// The file that NVRTC was loaded from, where the system tells.
pub(super) fn nvrtc_file() -> Option<PathBuf> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    nvrtc().ok()?;
    let find = || {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        // After the fifth column, which is the first with a slash.
        let files = maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..]));
        let is_nvrtc = |file: &&str| {
            let name = file.rsplit('/').next().unwrap_or(file);
            name == "libnvrtc.so" || name.starts_with("libnvrtc.so.")
        };
        files.into_iter().find(is_nvrtc).map(PathBuf::from)
    };
    FILE.get_or_init(find).clone()
}

/// The file names that cudarc tries, each once.
fn names(libraries: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in libraries.iter().flat_map(|library| get_lib_name_candidates(library)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_names_are_those_that_distributions_use() {
        let (cuda, nvrtc) = (names(&["cuda", "nvcuda"]), names(&["nvrtc"]));
        for expected in ["libcuda.so", "libcuda.so.1"] {
            assert_eq!(cuda.iter().filter(|name| *name == expected).count(), 1, "{cuda:?}");
        }
        let mut expected = vec!["libnvrtc.so", "libnvrtc.so.12", "libnvrtc.so.11"];
        if cfg!(feature = "cuda-13") {
            expected.push("libnvrtc.so.13");
        }
        for expected in expected {
            assert_eq!(nvrtc.iter().filter(|name| *name == expected).count(), 1, "{nvrtc:?}");
        }
    }

    #[test]
    fn an_absent_library_is_no_panic() {
        for found in [cuda_driver(), nvrtc()] {
            if let Err(looked_for) = found {
                assert!(!looked_for.is_empty());
            }
        }
    }
}
