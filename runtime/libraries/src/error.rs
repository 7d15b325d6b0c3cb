//! [`Error`]: the errors of the libraries' routines.

/// An error of a routine of one of CUDA's libraries.
///
/// The error of a run contains it, and [`of`](Self::of) finds it there.
///
/// ```
/// # #[cfg(feature = "cublas")] {
/// use thalweg::prelude::*;
/// use thalweg_libraries::cublas::{self, Gemm};
///
/// stream_pipeline! {
///     pipeline Square {
///         input a: [f32];
///         output b: [f32];
///         device db: [f32];
///         chunk c = 9;
///         stage load { copy a -> da; }
///         stage multiply { call cublas::gemm_out(Gemm::new(3, 3, 3), 1.0, &da, &da, out db); }
///         stage store { copy db -> b; }
///     }
/// }
///
/// let mut square = Square::new(&Device::simulated(Simulation::default()))?;
/// let error = square.run(&[1.0; 8], &mut [0.0; 8]).expect_err("it has 8 elements");
/// let Some(thalweg_libraries::Error::Dimensions { buffer, needed, len, .. }) = thalweg_libraries::Error::of(&error) else {
///     panic!("{error}")
/// };
/// assert_eq!((*buffer, *needed, *len), (Some("da"), 9, 8));
/// # }
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// One of CUDA's libraries cannot be loaded.
    #[error(
        "no {library}: none of its libraries could be loaded\n  looked for {}\n  help: install the CUDA toolkit, or PyPI's `{package}` on the library path",
        list(looked_for)
    )]
    NoLibrary {
        /// The library, such as `cuBLAS`.
        library: &'static str,
        /// PyPI's package that contains it.
        package: &'static str,
        /// File names, in the order they were tried.
        looked_for: Vec<String>,
    },
    /// One of CUDA's libraries is there but lacks a function that is needed.
    #[error("this {library} is too old: it has no `{symbol}`")]
    LibraryTooOld {
        /// The library, such as `cuBLAS`.
        library: &'static str,
        /// The missing function.
        symbol: &'static str,
    },
    /// A function of one of CUDA's libraries failed. What the device reported at the run's end, if it failed
    /// too, is in the run's error: [`device`](thalweg::error::Library::device).
    #[error("`{function}` of {library} failed: {status} ({code})")]
    Library {
        /// The library, such as `cuBLAS`.
        library: &'static str,
        /// The function, such as `cublasGemmEx`.
        function: &'static str,
        /// The library's name for what the function returned, such as `CUBLAS_STATUS_EXECUTION_FAILED`.
        status: &'static str,
        /// The library's number for it.
        code: u32,
    },
    /// The size of a matrix, vector or tensor differs from what a routine's dimensions say.
    #[error(
        "`{routine}`: `{argument}` is {dimensions}, which takes {}, but it has {len}{}",
        counted(*needed, "element"),
        buffer.map_or(String::new(), |name| format!(", of buffer `{name}`"))
    )]
    Dimensions {
        /// The routine, such as `gemm`.
        routine: &'static str,
        /// The argument, as the routine calls it.
        argument: &'static str,
        /// The pipeline's buffer that the argument is, or is part of.
        buffer: Option<&'static str>,
        /// The dimensions, such as `m x k = 3 x 4`.
        dimensions: String,
        /// The elements that the argument needs: exactly this number, or at least this number if rows or
        /// matrices stand apart.
        needed: usize,
        /// The elements that the argument has.
        len: usize,
    },
    /// A routine cannot take a dimension of this value.
    #[error("`{routine}`: {dimension} is {value}, but it must be {allowed}")]
    Dimension {
        /// The routine, such as `gemm`.
        routine: &'static str,
        /// The dimension, such as `m` or `the leading dimension of a`.
        dimension: &'static str,
        /// Its value.
        value: usize,
        /// The values that are allowed, such as `at least 4`.
        allowed: String,
    },
}

impl Error {
    /// The error of a library's routine that a run's error contains, if it contains one.
    pub fn of(error: &thalweg::Error) -> Option<&Self> {
        match error.kind() {
            thalweg::ErrorKind::Library(library) => library.downcast_ref(),
            _ => None,
        }
    }
}

impl From<Error> for thalweg::Error {
    fn from(error: Error) -> Self {
        Self::library(error)
    }
}

/// A number with its noun: `1 element`, `2 elements`.
pub(crate) fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The names, three on each line.
fn list(names: &[String]) -> String {
    names.chunks(3).map(|line| line.join(", ")).collect::<Vec<_>>().join(",\n    ")
}
