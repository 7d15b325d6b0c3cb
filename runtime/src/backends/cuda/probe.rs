//! Looks for CUDA's libraries. cudarc's loaders panic where there is none, and are not there if another crate has cudarc
//! link the libraries.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

/// A library, or the names under which it was looked for.
type Found = Result<Library, Vec<String>>;

/// CUDA's driver library, or the names under which it was looked for.
pub(super) fn cuda_driver() -> Result<&'static Library, Vec<String>> {
    static DRIVER: OnceLock<Found> = OnceLock::new();
    DRIVER.get_or_init(|| find(&["cuda", "nvcuda"])).as_ref().map_err(Clone::clone)
}

/// NVRTC, or the names under which it was looked for.
pub(super) fn nvrtc() -> Result<&'static Library, Vec<String>> {
    static NVRTC: OnceLock<Found> = OnceLock::new();
    NVRTC.get_or_init(|| find(&["nvrtc"])).as_ref().map_err(Clone::clone)
}

fn find(stems: &[&str]) -> Found {
    let names: Vec<String> = stems.iter().flat_map(|stem| file_names(stem)).collect();
    // SAFETY: loading a library runs its initialisers, which for CUDA's have no preconditions.
    let found = names.iter().find_map(|name| unsafe { Library::new(name) }.ok());
    found.ok_or(names)
}

/// The files that a library may be in, each once: as toolkits for developers have it, then with the numbers of CUDA's
/// releases, this crate's own first, and as drivers have it.
pub(crate) fn file_names(stem: &str) -> Vec<String> {
    let releases = match () {
        () if cfg!(feature = "cuda-11") => [11, 12, 13],
        () if cfg!(feature = "cuda-12") => [12, 13, 11],
        () => [13, 12, 11],
    };
    let mut names = vec![format!("{DLL_PREFIX}{stem}{DLL_SUFFIX}")];
    if DLL_SUFFIX == ".dll" {
        names.push(format!("{stem}64{DLL_SUFFIX}"));
        for release in releases {
            // NVRTC's file has had the name of 11.2 since then.
            let minor = if release == 11 { 2 } else { 0 };
            names.push(format!("{stem}64_{release}{DLL_SUFFIX}"));
            names.push(format!("{stem}64_{release}{minor}_0{DLL_SUFFIX}"));
        }
    } else {
        names.extend(
            releases.iter().chain(&[1]).map(|number| format!("{DLL_PREFIX}{stem}{DLL_SUFFIX}.{number}")),
        );
    }
    names
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_names_are_those_that_distributions_use() {
        let (cuda, nvrtc) = (file_names("cuda"), file_names("nvrtc"));
        for (names, expected) in [
            (cuda, &["libcuda.so", "libcuda.so.1"][..]),
            (nvrtc, &["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11"]),
        ] {
            for expected in expected {
                assert_eq!(names.iter().filter(|name| name == expected).count(), 1, "{names:?}");
            }
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
