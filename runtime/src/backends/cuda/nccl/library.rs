//! [`Nccl`]: the library, looked for when a device joins a world.

use std::env;
use std::ffi::{CStr, c_char, c_int};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::Library;

use super::sys::{self, Functions, ncclComm_t, ncclResult_t};
use crate::backends::cuda::probe;
use crate::backends::cuda::table::symbol;
use crate::base::error::{DriverError, RanksDetail};
use crate::driver::DriverResult;

/// The library's files, as packages for developers and as all others name it.
const FILES: [&str; 2] = ["libnccl.so", "libnccl.so.2"];

type GetVersion = unsafe extern "C" fn(*mut c_int) -> ncclResult_t;
type ErrorString = unsafe extern "C" fn(ncclResult_t) -> *const c_char;
type LastError = unsafe extern "C" fn(ncclComm_t) -> *const c_char;

/// The NCCL of this process.
pub(super) struct Nccl {
    functions: Functions,
    describe: ErrorString,
    last_error: LastError,
}

impl std::ops::Deref for Nccl {
    type Target = Functions;

    fn deref(&self) -> &Functions {
        &self.functions
    }
}

impl Nccl {
    /// The library: looked for and checked at the first call. The result stays the same until the process
    /// ends.
    ///
    /// # Errors
    /// There is none, or it is older than 2.18.
    pub(super) fn get() -> Result<&'static Self, RanksDetail> {
        static LIBRARY: OnceLock<Result<Library, Vec<String>>> = OnceLock::new();
        static NCCL: OnceLock<Result<Nccl, RanksDetail>> = OnceLock::new();
        let library = LIBRARY.get_or_init(load).as_ref();
        let library = library.map_err(|names| RanksDetail::NoNccl { looked_for: names.clone() })?;
        NCCL.get_or_init(|| Self::find(library)).as_ref().map_err(Clone::clone)
    }

    fn find(library: &'static Library) -> Result<Self, RanksDetail> {
        let lacks = |symbol: &str| RanksDetail::OldNccl { found: format!("it lacks `{symbol}`") };
        // SAFETY: the type is that of the header, except the code, an enum there and its integer here.
        let version = unsafe { symbol::<GetVersion>(library, "ncclGetVersion") };
        let version = version.ok_or_else(|| lacks("ncclGetVersion"))?;
        let mut number = 0;
        // SAFETY: `number` is a place for the result.
        if unsafe { version(&mut number) } != sys::ncclSuccess || number < sys::OLDEST {
            return Err(RanksDetail::OldNccl { found: format!("this is {}", release(number)) });
        }
        Ok(Self {
            functions: Functions::find(library).map_err(lacks)?,
            // SAFETY: the types are those of the header, as above.
            describe: unsafe { symbol(library, "ncclGetErrorString") }
                .ok_or_else(|| lacks("ncclGetErrorString"))?,
            // SAFETY: as above.
            last_error: unsafe { symbol(library, "ncclGetLastError") }
                .ok_or_else(|| lacks("ncclGetLastError"))?,
        })
    }

    /// An error unless a call has succeeded, or goes on.
    pub(super) fn check(&self, call: &'static str, code: ncclResult_t) -> DriverResult<()> {
        if code == sys::ncclSuccess || code == sys::ncclInProgress {
            Ok(())
        } else {
            Err(self.error(call, code))
        }
    }

    /// The error of a call that has failed.
    #[cold]
    pub(super) fn error(&self, call: &'static str, code: ncclResult_t) -> Box<DriverError> {
        // SAFETY: the function takes any code, and gives a string of the library's.
        let described = unsafe { text((self.describe)(code)) };
        // SAFETY: the function takes no communicator, too: then it tells the last error of the process.
        let last = unsafe { text((self.last_error)(std::ptr::null_mut())) };
        let described = described.unwrap_or_else(|| "NCCL has no description of this code".to_owned());
        let description = match last.as_deref().map(str::trim) {
            None | Some("") => described,
            Some(last) => format!("{described}: {last}"),
        };
        DriverError::new(call, code, name(code), description)
    }
}

/// # Safety
/// The pointer is null, or a NUL-terminated string that stays until this returns.
unsafe fn text(text: *const c_char) -> Option<String> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// The header's name of a code.
fn name(code: ncclResult_t) -> &'static str {
    match code {
        sys::ncclUnhandledCudaError => "ncclUnhandledCudaError",
        sys::ncclSystemError => "ncclSystemError",
        sys::ncclInternalError => "ncclInternalError",
        sys::ncclInvalidArgument => "ncclInvalidArgument",
        sys::ncclInvalidUsage => "ncclInvalidUsage",
        sys::ncclRemoteError => "ncclRemoteError",
        sys::ncclInProgress => "ncclInProgress",
        _ => "an unknown code",
    }
}

/// A release by its number. The numbers have had two digits for the middle part since 2.9.
fn release(number: c_int) -> String {
    let unit = if number < 10_000 { 1000 } else { 10_000 };
    format!("{}.{}.{}", number / unit, number % unit / 100, number % 100)
}

/// Loads the first library that is there.
fn load() -> Result<Library, Vec<String>> {
    let names = candidates(probe::nvrtc_file().as_deref(), &|name| env::var_os(name).map(PathBuf::from));
    // SAFETY: loading a library runs its initialisers, which NCCL's documentation gives no preconditions for.
    let found = names.iter().find_map(|name| unsafe { Library::new(name) }.ok());
    found.ok_or(names)
}

/// Where the library may be, in order: on the loader's path, where a library that another one has loaded
/// counts too; among PyPI's packages, beside NVRTC or in the active environment of Python; and in toolkits.
fn candidates(nvrtc: Option<&Path>, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<String> {
    let mut folders = Vec::new();
    // `nvidia/cuda_nvrtc/lib/libnvrtc.so.12`, or `nvidia/cu13/lib/libnvrtc.so.13`, beside `nvidia/nccl/lib`.
    folders.extend(nvrtc.and_then(|file| file.ancestors().nth(3)).map(|packages| packages.join("nccl/lib")));
    for root in ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| variable(name)) {
        folders.push(root.join("lib"));
        folders.extend(of_python(&root.join("lib")));
    }
    for root in ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(|name| variable(name)) {
        folders.extend(["lib64", "lib"].map(|folder| root.join(folder)));
    }
    folders.push(PathBuf::from("/usr/local/cuda/lib64"));
    let mut names: Vec<String> = FILES.map(str::to_owned).to_vec();
    for name in folders.iter().flat_map(|folder| FILES.map(|file| folder.join(file))) {
        let name = name.to_string_lossy().into_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The folders of PyPI's NCCL below an environment's `lib`, one for each Python.
fn of_python(lib: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(lib).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_python =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3"));
    let mut folders: Vec<_> =
        entries.filter(is_python).map(|path| path.join("site-packages/nvidia/nccl/lib")).collect();
    folders.sort_unstable();
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_told_from_its_number() {
        assert_eq!([2708, 21803, 23007].map(release), ["2.7.8", "2.18.3", "2.30.7"]);
    }

    #[test]
    fn packages_of_python_are_looked_into_after_the_loaders_path() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join("lib/python3.12")).expect("a folder");
        let environment = |name: &str| (name == "VIRTUAL_ENV").then(|| root.path().to_owned());
        for nvrtc in ["/site/nvidia/cu13/lib/libnvrtc.so.13", "/site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"] {
            let names = candidates(Some(Path::new(nvrtc)), &environment);
            assert_eq!(names[..2], FILES);
            assert_eq!(names[3], "/site/nvidia/nccl/lib/libnccl.so.2");
            let of_python = root.path().join("lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2");
            assert!(names.contains(&of_python.to_string_lossy().into_owned()), "{names:?}");
        }
    }
}
