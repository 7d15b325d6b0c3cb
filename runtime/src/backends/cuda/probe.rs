//! The search for CUDA's libraries when they are needed. Nothing is linked.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::Library;

use super::table::symbol;

/// The order if no driver says otherwise.
const NEWEST_FIRST: [u32; 3] = [13, 12, 11];

/// A library, or the names under which it was looked for.
type Found = Result<Library, Vec<String>>;

/// CUDA's driver library, or the names under which it was looked for.
pub(super) fn cuda_driver() -> Result<&'static Library, Vec<String>> {
    static DRIVER: OnceLock<Found> = OnceLock::new();
    DRIVER.get_or_init(|| find(&["cuda", "nvcuda"], NEWEST_FIRST)).as_ref().map_err(Clone::clone)
}

/// NVRTC, or the names under which it was looked for.
pub(super) fn nvrtc() -> Result<&'static Library, Vec<String>> {
    static NVRTC: OnceLock<Found> = OnceLock::new();
    NVRTC.get_or_init(|| find(&["nvrtc"], cuda_releases())).as_ref().map_err(Clone::clone)
}

/// The major releases of CUDA in the order in which to look for their libraries. The driver's own comes
/// first, since a driver cannot run code that a newer release has compiled. Without a driver, the newest is
/// first.
///
/// Routines that load a library of CUDA need it: the name of the library's file contains the release.
pub fn cuda_releases() -> [u32; 3] {
    static RELEASES: OnceLock<[u32; 3]> = OnceLock::new();
    *RELEASES.get_or_init(|| in_order(driver_release()))
}

fn in_order(driver: Option<u32>) -> [u32; 3] {
    match driver {
        Some(11) => [11, 12, 13],
        Some(12) => [12, 13, 11],
        _ => NEWEST_FIRST,
    }
}

/// The release of CUDA that the driver belongs to, if there is a driver.
fn driver_release() -> Option<u32> {
    type GetVersion = unsafe extern "C" fn(*mut c_int) -> u32;
    // SAFETY: `cuDriverGetVersion` has this type.
    let get_version = unsafe { symbol::<GetVersion>(cuda_driver().ok()?, "cuDriverGetVersion") }?;
    let mut version = 0;
    // SAFETY: it may be called before the driver is initialised; `version` is a place for the result.
    let code = unsafe { get_version(&mut version) };
    if code == 0 { Some(u32::try_from(version).ok()? / 1000) } else { None }
}

fn find(stems: &[&str], releases: [u32; 3]) -> Found {
    let names: Vec<String> = stems.iter().flat_map(|stem| file_names(stem, releases)).collect();
    // SAFETY: loading a library runs its initialisers, which for CUDA's have no preconditions.
    let found = names.iter().find_map(|name| unsafe { Library::new(name) }.ok());
    found.ok_or(names)
}

/// The files that may contain a library, each once: first as toolkits for developers name it, then with the
/// numbers of CUDA's releases in this order, then as drivers name it.
fn file_names(stem: &str, releases: [u32; 3]) -> Vec<String> {
    let mut names = vec![format!("{DLL_PREFIX}{stem}{DLL_SUFFIX}")];
    if DLL_SUFFIX == ".dll" {
        names.push(format!("{stem}64{DLL_SUFFIX}"));
        for release in releases {
            // NVRTC's file keeps the name of 11.2 in all later releases of 11.
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

/// The file from which NVRTC was loaded, if the system tells.
pub(super) fn nvrtc_file() -> Option<PathBuf> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    nvrtc().ok()?;
    let find = || {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        // The path begins after the fifth column, at the first slash.
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
        let [cuda, nvrtc] = ["cuda", "nvrtc"].map(|stem| file_names(stem, NEWEST_FIRST));
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
    fn the_drivers_release_comes_first() {
        for (driver, first) in [(Some(11), 11), (Some(12), 12), (Some(13), 13), (Some(14), 13), (None, 13)] {
            let mut releases = in_order(driver);
            assert_eq!(releases[0], first);
            releases.sort_unstable();
            assert_eq!(releases, [11, 12, 13], "each once");
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
