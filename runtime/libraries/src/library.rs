//! [`Library`]: one of CUDA's libraries, looked for when it is first used.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::sync::OnceLock;

use thalweg::Result;
use thalweg::routine::cuda_releases;

use crate::Error;

/// A library that is looked for once, and stays loaded until the process ends.
pub(crate) struct Library {
    /// The name in messages, such as `cuBLAS`.
    name: &'static str,
    /// The word in the files' names, such as `cublas`.
    stem: &'static str,
    /// The number in the file's name, for CUDA 13, 12 and 11.
    versions: [u32; 3],
    /// PyPI's package that contains it.
    package: &'static str,
    loaded: OnceLock<Result<libloading::Library, Vec<String>>>,
}

impl Library {
    /// `versions` are the numbers in the file's name for CUDA 13, 12 and 11; `package` is PyPI's name for it.
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
    /// [`Error::NoLibrary`].
    pub(crate) fn get(&'static self) -> Result<&'static libloading::Library> {
        let loaded = self.loaded.get_or_init(|| {
            let names = self.file_names(cuda_releases());
            // SAFETY: loading a library runs its initialisers, which for CUDA's have no preconditions.
            let mut found = names.iter().filter_map(|name| unsafe { libloading::Library::new(name) }.ok());
            found.next().ok_or(names)
        });
        loaded.as_ref().map_err(|looked_for| {
            let (library, package, looked_for) = (self.name, self.package, looked_for.clone());
            Error::NoLibrary { library, package, looked_for }.into()
        })
    }

    // Note 17: tables of this crate, since cudarc's loaders panic.
    /// Gives a table of its functions, which `find` looks up and `table` keeps.
    ///
    /// # Errors
    /// [`Error::NoLibrary`], or [`Error::LibraryTooOld`] with the function that `find` says is missing.
    pub(crate) fn table<T>(
        &'static self,
        table: &'static OnceLock<Result<T, &'static str>>,
        find: impl FnOnce(&'static libloading::Library) -> Result<T, &'static str>,
    ) -> Result<&'static T> {
        let library = self.get()?;
        let table = table.get_or_init(|| find(library)).as_ref();
        table.map_err(|symbol| Error::LibraryTooOld { library: self.name, symbol }.into())
    }

    /// The error for a code other than success that one of its functions returned.
    #[cold]
    pub(crate) fn failed(&self, function: &'static str, status: &'static str, code: u32) -> thalweg::Error {
        let function = function.strip_suffix("_v2").unwrap_or(function);
        Error::Library { library: self.name, function, status, code }.into()
    }

    /// The files to look for, each once: those of toolkits for developers, then those of CUDA releases and
    /// their wheels, in the order of `releases`, then those that are numbered by CUDA's own releases.
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
        let of_release = |release| match DLL_SUFFIX {
            ".dll" => format!("{stem}64_{release}{DLL_SUFFIX}"),
            _ => format!("{DLL_PREFIX}{stem}{DLL_SUFFIX}.{release}"),
        };
        let plain = format!("{DLL_PREFIX}{stem}{DLL_SUFFIX}");
        let mut names: Vec<String> = Vec::new();
        for name in [plain].into_iter().chain(versioned).chain(releases.map(of_release)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

/// Gives a table of a library's functions two more methods: `get`, which finds the table, and `error`, which
/// uses the name that `status` has for a code.
macro_rules! of_library {
    ($Table:ident, $LIBRARY:ident, $status:ident) => {
        impl $Table {
            /// The table of this process.
            pub(super) fn get() -> thalweg::Result<&'static Self> {
                static TABLE: std::sync::OnceLock<Result<$Table, &'static str>> = std::sync::OnceLock::new();
                $LIBRARY.table(&TABLE, Self::find)
            }

            #[cold]
            fn error(&self, function: &'static str, code: u32) -> thalweg::Error {
                $LIBRARY.failed(function, $status(code), code)
            }
        }
    };
}
pub(crate) use of_library;

#[cfg(test)]
mod tests {
    use super::*;

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
        let Some(Error::NoLibrary { library: "cuNOWHERE", looked_for, .. }) = Error::of(&error) else {
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
        // The C library's mathematics serves as the library: its file has a version, as those of CUDA's
        // libraries do.
        static MATHEMATICS: Library = Library::new("cuMATH", "m", [6, 6, 6], "none");
        static TABLE: OnceLock<Result<(), &'static str>> = OnceLock::new();
        MATHEMATICS.get().expect("the C library");
        let error =
            MATHEMATICS.table(&TABLE, |_| Err("cuMathCreate")).expect_err("there is no such function");
        assert_eq!(error.to_string(), "this cuMATH is too old: it has no `cuMathCreate`");
    }

    #[test]
    fn a_failed_call_has_the_names_of_the_library() {
        static CUBLAS: Library = Library::new("cuBLAS", "cublas", [13, 12, 11], "nvidia-cublas");
        let error = CUBLAS.failed("cublasSgemv_v2", "CUBLAS_STATUS_EXECUTION_FAILED", 13);
        let text = "`cublasSgemv` of cuBLAS failed: CUBLAS_STATUS_EXECUTION_FAILED (13)";
        assert_eq!(error.to_string(), text);
    }
}
