//! [`Library`]: one of CUDA's libraries, looked for when it is first used.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::sync::OnceLock;

use crate::backends::cuda::probe::{file_names, releases};
use crate::base::error::{Error, ErrorKind, Result};

/// A library that is looked for once, and stays loaded until the process ends.
pub(crate) struct Library {
    /// `cuBLAS`.
    name: &'static str,
    /// `cublas`, of which the files' names are made.
    stem: &'static str,
    /// The number in the file's name, for CUDA 13, 12 and 11.
    versions: [u32; 3],
    /// Where PyPI has it.
    package: &'static str,
    loaded: OnceLock<Result<libloading::Library, Vec<String>>>,
}

impl Library {
    /// `versions` are the numbers in the file's name for CUDA 13, 12 and 11; `package` is PyPI's.
    pub(crate) const fn new(
        name: &'static str,
        stem: &'static str,
        versions: [u32; 3],
        package: &'static str,
    ) -> Self {
        Self { name, stem, versions, package, loaded: OnceLock::new() }
    }

    /// The library itself.
    ///
    /// # Errors
    /// [`ErrorKind::NoLibrary`].
    pub(crate) fn get(&'static self) -> Result<&'static libloading::Library> {
        let loaded = self.loaded.get_or_init(|| {
            let names = self.file_names(releases());
            // SAFETY: loading a library runs its initialisers, which for CUDA's have no preconditions.
            let mut found = names.iter().filter_map(|name| unsafe { libloading::Library::new(name) }.ok());
            found.next().ok_or(names)
        });
        loaded.as_ref().map_err(|looked_for| {
            let (library, package, looked_for) = (self.name, self.package, looked_for.clone());
            ErrorKind::NoLibrary { library, package, looked_for }.into()
        })
    }

    // Note 17: tables of this crate, since cudarc's loaders panic.
    /// A table of its functions, which `find` looks up; `table` keeps it.
    ///
    /// # Errors
    /// [`ErrorKind::NoLibrary`], or [`ErrorKind::LibraryTooOld`] with the function that `find` says is missing.
    pub(crate) fn table<T>(
        &'static self,
        table: &'static OnceLock<Result<T, &'static str>>,
        find: impl FnOnce(&'static libloading::Library) -> Result<T, &'static str>,
    ) -> Result<&'static T> {
        let library = self.get()?;
        let table = table.get_or_init(|| find(library)).as_ref();
        table.map_err(|symbol| ErrorKind::LibraryTooOld { library: self.name, symbol }.into())
    }

    /// What one of its functions returned, other than success.
    #[cold]
    pub(crate) fn failed(&self, function: &'static str, status: &'static str, code: u32) -> Error {
        let function = function.strip_suffix("_v2").unwrap_or(function);
        ErrorKind::Library { library: self.name, function, status, code, device: None }.into()
    }

    /// The files to look for, each once: what toolkits for developers have, then what CUDA releases and their wheels have,
    /// in the order of `releases`, then the names of any of CUDA's libraries.
    fn file_names(&self, releases: [u32; 3]) -> Vec<String> {
        let [of_13, of_12, of_11] = self.versions;
        let versions = releases.map(|release| match release {
            11 => of_11,
            12 => of_12,
            _ => of_13,
        });
        let stem = self.stem;
        let versioned = versions.map(|version| match DLL_SUFFIX {
            ".dll" => format!("{DLL_PREFIX}{stem}64_{version}{DLL_SUFFIX}"),
            _ => format!("{DLL_PREFIX}{stem}{DLL_SUFFIX}.{version}"),
        });
        let plain = format!("{DLL_PREFIX}{stem}{DLL_SUFFIX}");
        let mut names: Vec<String> = Vec::new();
        for name in [plain].into_iter().chain(versioned).chain(file_names(stem, releases)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// What a table of a library's functions has beside them: `get`, which finds it, and `error`, with the name that `status`
/// has for a code.
#[cfg(any(feature = "cublas", feature = "cufft", feature = "curand", feature = "cudnn"))]
macro_rules! of_library {
    ($Table:ident, $LIBRARY:ident, $status:ident) => {
        impl $Table {
            /// That of this process.
            pub(super) fn get() -> $crate::base::error::Result<&'static Self> {
                static TABLE: std::sync::OnceLock<Result<$Table, &'static str>> = std::sync::OnceLock::new();
                $LIBRARY.table(&TABLE, Self::find)
            }

            #[cold]
            fn error(&self, function: &'static str, code: u32) -> $crate::base::error::Error {
                $LIBRARY.failed(function, $status(code), code)
            }
        }
    };
}
#[cfg(any(feature = "cublas", feature = "cufft", feature = "curand", feature = "cudnn"))]
pub(crate) use of_library;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::DriverError;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_files_are_those_of_toolkits_and_wheels() {
        static CUFFT: Library = Library::new("cuFFT", "cufft", [12, 11, 10], "nvidia-cufft");
        let names = CUFFT.file_names([13, 12, 11]);
        assert_eq!(names[..4], ["libcufft.so", "libcufft.so.12", "libcufft.so.11", "libcufft.so.10"]);
        let of_12 = CUFFT.file_names([12, 13, 11]);
        assert_eq!(of_12[..4], ["libcufft.so", "libcufft.so.11", "libcufft.so.12", "libcufft.so.10"]);
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len(), "each once");
    }

    #[test]
    fn a_missing_library_says_where_to_get_it() {
        static NOWHERE: Library = Library::new(
            "cuNOWHERE",
            "thalweg_nowhere",
            [3, 2, 1],
            "nvidia-nowhere` or `nvidia-nowhere-cu12",
        );
        let error = NOWHERE.get().expect_err("there is no such library");
        let ErrorKind::NoLibrary { library: "cuNOWHERE", looked_for, .. } = error.kind() else {
            panic!("{error}")
        };
        assert!(looked_for.len() > 3, "{looked_for:?}");
        let text = error.to_string();
        assert!(
            text.starts_with("no cuNOWHERE: none of its libraries could be loaded\n  looked for "),
            "{text}"
        );
        let help = "\n  help: install the CUDA toolkit, or PyPI's `nvidia-nowhere` or `nvidia-nowhere-cu12` on the library path";
        assert!(text.ends_with(help), "{text}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_library_without_a_function_is_too_old() {
        // Any library will do: the C library's mathematics, which has a version as CUDA's libraries do.
        static MATHEMATICS: Library = Library::new("cuMATH", "m", [6, 6, 6], "none");
        static TABLE: OnceLock<Result<(), &'static str>> = OnceLock::new();
        MATHEMATICS.get().expect("the C library");
        let error =
            MATHEMATICS.table(&TABLE, |_| Err("cuMathCreate")).expect_err("there is no such function");
        assert_eq!(error.to_string(), "this cuMATH is too old: it has no `cuMathCreate`");
    }

    #[test]
    fn a_failed_call_says_what_the_device_reported() {
        static CUBLAS: Library = Library::new("cuBLAS", "cublas", [13, 12, 11], "nvidia-cublas");
        let error = CUBLAS.failed("cublasSgemv_v2", "CUBLAS_STATUS_EXECUTION_FAILED", 13);
        let text = "`cublasSgemv` of cuBLAS failed: CUBLAS_STATUS_EXECUTION_FAILED (13)";
        assert_eq!(error.to_string(), text);
        let cause =
            DriverError::new("cuStreamSynchronize", 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal access");
        let expected = format!(
            "{text}\n  the device reported: `cuStreamSynchronize` failed: CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal access"
        );
        assert_eq!(error.with_cause(cause).to_string(), expected);
    }
}
