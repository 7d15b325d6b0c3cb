//! What can go wrong, and where it did.

mod driver;
mod kind;
mod text;
mod touch;
mod unwritten;

use std::fmt;
use std::panic::Location;

pub(crate) use driver::Detail;
pub use driver::DriverError;
pub use kind::ErrorKind;
#[allow(unused_imports, reason = "for libraries, which are features")]
pub(crate) use text::counted;
pub(crate) use text::{IS_NEEDED_WHOLE, SEES_NEIGHBOURS};
pub use touch::Touch;
pub(crate) use unwritten::Unwritten;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error, with the place in the pipeline that it belongs to.
///
/// `Display` gives one line that says what happened, followed by lines that say where:
///
/// ```text
/// device memory is exhausted: `dx` needs 2147483648 bytes, 805306368 are free
///   in pipeline `Saxpy`, stage `load`, operation `copy x -> dx`, chunk 3
///   at src/main.rs:31:31
/// ```
///
/// [`kind`](Self::kind) says what has happened, [`place`](Self::place) where, and [`complete`](Self::complete) how much of the
/// results is there all the same:
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::saxpy;
///
/// stream_pipeline! {
///     pipeline Saxpy {
///         param a: f32;
///         input x: [f32];
///         inout y: [f32];
///         chunk c = 100;
///         stage load { copy x -> dx; copy y -> dy; }
///         stage axpy { saxpy<<<1, 128>>>(100, a, &dx, &mut dy); } // not all chunks have 100 items
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let mut y = [2.0; 250];
/// let mut pipeline = Saxpy::new(&Device::simulated(Spec::h200()))?;
/// let error = pipeline.run(3.0, &[1.0; 250], &mut y).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Requires { kernel: "saxpy", .. }));
/// assert_eq!((error.place().stage, error.place().chunk), (Some("axpy"), Some(2)));
///
/// let arrived = &error.complete()[0];
/// assert_eq!((arrived.host, arrived.chunks, arrived.items), ("y", 2, 200));
/// assert_eq!(y[..200], [5.0; 200]);
///
/// let text = error.to_string();
/// assert!(text.starts_with("kernel `saxpy` requires `n as usize <= x.len()` (n = 100, x.len() = 50)\n  in pipeline `Saxpy`"));
/// assert!(text.ends_with("the first 2 chunks of `y` (200 items) have arrived"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Error {
    inner: Box<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    kind: ErrorKind,
    place: Place,
    complete: Vec<Complete>,
}

/// Where in the user's program an operation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// As `file!()` gives it.
    pub file: &'static str,
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

impl From<&'static Location<'static>> for Site {
    fn from(at: &'static Location<'static>) -> Self {
        Self { file: at.file(), line: at.line(), column: at.column() }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Where in a pipeline an error belongs: as much as is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// Name of the pipeline's type.
    pub pipeline: Option<&'static str>,
    /// Name of the stage.
    pub stage: Option<&'static str>,
    /// The operation as it is written, `copy x -> dx`.
    pub operation: Option<&'static str>,
    /// Index of the chunk, from 0.
    pub chunk: Option<u64>,
    /// The line in the user's program.
    pub site: Option<Site>,
    /// The line of the call, `pipeline.run(…)`, where the error is of its arguments or of the run as a whole: `site` is then that of
    /// the declaration.
    pub run: Option<Site>,
}

/// How much of one output a failed run has delivered. An output that is written in place (`device`, `mapped`) is not listed,
/// and one that is copied in an `if` counts as not delivered. Of a sink it is what that has accepted.
///
/// Everything is counted in what this output has: of `[T; 4]` an item is 4 elements, and what is `[T; 2] per chunk` has one item of 2
/// elements for each chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Complete {
    /// Name of the `output` or `inout`.
    pub host: &'static str,
    /// Chunks whose data has arrived in the caller's memory, or that a sink has accepted: all from 0 up to this one, exclusive.
    pub chunks: u64,
    /// Items of the output in those chunks. What is `per chunk` has one for each of them.
    pub items: usize,
    /// Elements of the output in those chunks, `items` times as many as an item has: `output[..elements]` has arrived.
    pub elements: usize,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self { inner: Box::new(Inner { kind, place: Place::default(), complete: Vec::new() }) }
    }

    /// The error of a routine that a pipeline calls: its name, and what it returned.
    ///
    /// ```
    /// use thalweg::Error;
    ///
    /// let error = Error::routine("cublasSaxpy", "CUBLAS_STATUS_NOT_INITIALIZED");
    /// assert_eq!(error.to_string(), "`cublasSaxpy` failed: CUBLAS_STATUS_NOT_INITIALIZED");
    /// ```
    pub fn routine(routine: impl Into<String>, status: impl Into<String>) -> Self {
        ErrorKind::Routine { routine: routine.into(), status: status.into() }.into()
    }

    /// What happened: to match on.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// Says what the device reported at the end of a run in which a library failed.
    pub(crate) fn with_cause(mut self, cause: DriverError) -> Self {
        if let ErrorKind::Library { device, .. } = &mut self.inner.kind {
            *device = Some(Box::new(cause));
        }
        self
    }

    /// Says which buffer the argument is, of whose size this is.
    pub(crate) fn with_buffer(mut self, name: Option<&'static str>) -> Self {
        if let ErrorKind::Dimensions { buffer, .. } = &mut self.inner.kind {
            *buffer = name;
        }
        self
    }

    /// Where it belongs in the pipeline.
    pub fn place(&self) -> &Place {
        &self.inner.place
    }

    /// How much of each output had been delivered when a run failed; empty for errors before the first chunk.
    pub fn complete(&self) -> &[Complete] {
        &self.inner.complete
    }

    /// Fills in what of the place is not known yet.
    pub(crate) fn at(mut self, place: Place) -> Self {
        let known = &mut self.inner.place;
        known.pipeline = known.pipeline.or(place.pipeline);
        known.stage = known.stage.or(place.stage);
        known.operation = known.operation.or(place.operation);
        known.chunk = known.chunk.or(place.chunk);
        known.site = known.site.or(place.site);
        known.run = known.run.or(place.run);
        self
    }

    /// Says where the run was called, unless it is an error of one of its operations or chunks.
    pub(crate) fn of_run_at(self, called: Option<&'static Location<'static>>) -> Self {
        let Place { operation, chunk, .. } = self.inner.place;
        let run = called.filter(|_| operation.is_none() && chunk.is_none()).map(Site::from);
        self.at(Place { run, ..Place::default() })
    }

    /// It came up in one of many orders.
    pub(crate) fn in_schedule(mut self, number: u64, seed: u64) -> Self {
        let cause = Box::new(std::mem::replace(&mut self.inner.kind, ErrorKind::Skipped));
        self.inner.kind = ErrorKind::Schedule { number, seed, cause };
        self
    }

    pub(crate) fn with_complete(mut self, complete: Vec<Complete>) -> Self {
        self.inner.complete = complete;
        self
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        Self::new(match error.detail.as_deref() {
            Some(Detail::Forked) => ErrorKind::Forked,
            _ => ErrorKind::Driver(error),
        })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let kind = &self.inner.kind;
        let of_driver = kind.driver_error().map(|error| error as _);
        of_driver.or_else(|| kind.io_error().map(|error| error as _))
    }
}

/// The same as `Display`, so that `fn main() -> thalweg::Result<()>` prints what a person can read.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.inner.kind)?;
        let place = &self.inner.place;
        let mut parts = Vec::new();
        parts.extend(place.pipeline.map(|name| format!("pipeline `{name}`")));
        parts.extend(place.stage.map(|name| format!("stage `{name}`")));
        parts.extend(place.operation.map(|name| format!("operation `{name}`")));
        parts.extend(place.chunk.map(|index| format!("chunk {index}")));
        if !parts.is_empty() {
            write!(f, "\n  in {}", parts.join(", "))?;
        }
        if let Some(site) = place.site {
            write!(f, "\n  at {site}")?;
        }
        if let Some(run) = place.run {
            write!(f, "\n  in the run at {run}")?;
        }
        if let Some(error) = self.inner.kind.driver_error()
            && !matches!(self.inner.kind, ErrorKind::Library { .. })
            && error.is_asynchronous()
            && place.operation.is_none()
        {
            write!(f, "\n  help: run with THALWEG_SYNC=1 to learn which operation failed")?;
        }
        for complete in &self.inner.complete {
            let &Complete { host, chunks, items, elements } = complete;
            // What is `per chunk` has as many items as chunks, which says nothing of how many elements.
            let items = match items as u64 == chunks && items != elements {
                true => counted(elements, "element"),
                false => counted(items, "item"),
            };
            match chunks {
                0 => write!(f, "\n  nothing of `{host}` has arrived")?,
                1 => write!(f, "\n  the first chunk of `{host}` ({items}) has arrived")?,
                _ => write!(f, "\n  the first {chunks} chunks of `{host}` ({items}) have arrived")?,
            }
        }
        Ok(())
    }
}
