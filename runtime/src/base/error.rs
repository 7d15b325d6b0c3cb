//! Errors, with their kinds and their places.

mod detail;
mod driver;
mod kind;
mod ranks;
mod text;
mod touch;
mod unwritten;

use std::fmt;
use std::panic::Location;

pub use detail::Detail;
pub use driver::DriverError;
pub(crate) use driver::{Apart, DriverDetail};
pub use kind::{
    Cancelled, Closed, Compile, Contract, DeviceLost, Driver, Environment, ErrorKind, Function, Library,
    Limit, Misuse, OutOfMemory, Race, Ranks, Shape, Sink, Source,
};
pub use ranks::{RanksDetail, Who};
pub(crate) use text::counted;
pub(crate) use text::{IS_NEEDED_WHOLE, RACE_OF_PEERS, RACE_OF_STRANGERS, RACE_OF_STREAMS, SEES_NEIGHBOURS};
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
/// [`kind`](Self::kind) says what happened, [`place`](Self::place) says where, and
/// [`complete`](Self::complete) says how much of the results has arrived nevertheless:
///
/// ```
/// use thalweg::prelude::*;
///
/// /// `y[i] += a * x[i]`, of 100 elements.
/// #[kernel]
/// #[requires(y.len() == 100)]
/// fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
///     let Some(y) = y.get_mut(i) else { return };
///     *y += a * x[i];
/// }
///
/// stream_pipeline! {
///     pipeline Saxpy {
///         param a: f32;
///         input x: [f32];
///         inout y: [f32];
///         chunk c = 100;
///         stage load { copy x -> dx; copy y -> dy; }
///         stage axpy { saxpy<<<1, 128>>>(a, &dx, &mut dy); } // not all chunks have 100 items
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let mut y = [2.0; 250];
/// let mut pipeline = Saxpy::new(&Device::simulated(Simulation::h200()))?;
/// let error = pipeline.run(3.0, &[1.0; 250], &mut y).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Contract(contract) if contract.kernel() == "saxpy"));
/// assert_eq!((error.place().stage, error.place().chunk), (Some("axpy"), Some(2)));
///
/// let arrived = &error.complete()[0];
/// assert_eq!((arrived.host, arrived.chunks, arrived.items), ("y", 2, 200));
/// assert_eq!(y[..200], [5.0; 200]);
///
/// let text = error.to_string();
/// assert!(text.starts_with("kernel `saxpy` requires `y.len() == 100` (y.len() = 50)\n  in pipeline `Saxpy`"));
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
    /// The device, if the pipeline has several: its number, and what it is called.
    device: Option<(usize, String)>,
    complete: Vec<Complete>,
}

/// The place of an operation in the user's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// The path, as `file!()` gives it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
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

/// The place in a pipeline that an error belongs to. Parts that are not known are `None`.
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
    /// The line of the call, `pipeline.run(…)`, if the error is about its arguments or about the run as a
    /// whole. `site` is then the line of the declaration.
    pub run: Option<Site>,
}

/// How much of one output a failed run has delivered. An output that is written in place (`device`, `mapped`)
/// is not listed, and one that is copied in an `if` counts as not delivered. A sink's output counts as
/// delivered when the sink has accepted it.
///
/// The units are those of this output: an item of `[T; 4]` is 4 elements, and `[T; 2] per chunk` has one item
/// of 2 elements for each chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Complete {
    /// Name of the `output` or `inout`.
    pub host: &'static str,
    /// Chunks whose data has arrived in the caller's memory, or that a sink has accepted. They are the first
    /// ones: chunks 0 to `chunks`, exclusive.
    pub chunks: u64,
    /// Items of the output in those chunks. An output that is `per chunk` has one item for each of them.
    pub items: usize,
    /// Elements of the output in those chunks: `items` times the elements of an item. `output[..elements]`
    /// has arrived.
    pub elements: usize,
}

impl Error {
    pub(crate) fn new(detail: Detail) -> Self {
        let kind = ErrorKind::of(detail);
        Self { inner: Box::new(Inner { kind, place: Place::default(), device: None, complete: Vec::new() }) }
    }

    /// What happened and in which operation, in one line, for other ranks.
    pub(crate) fn summary(&self) -> String {
        let text = self.to_string();
        let mut lines = text.lines().map(str::trim);
        let what = lines.next().unwrap_or_default();
        match lines.find(|line| line.starts_with("in pipeline")) {
            Some(place) => format!("{what}, {place}"),
            None => what.to_owned(),
        }
    }

    /// Whether other ranks are the reason, who then know of it.
    pub(crate) fn is_of_ranks(&self) -> bool {
        matches!(self.detail(), Detail::Ranks(ranks) if ranks.is_known_to_all())
    }

    /// A collective that could not take place is about the ranks that another error of its world is about.
    pub(crate) fn about_those_of(mut self, failure: &Self) -> Self {
        if let (Detail::Ranks(RanksDetail::Apart { why, .. }), Detail::Ranks(of)) =
            (self.detail(), failure.detail())
        {
            let apart = RanksDetail::Apart { why: why.clone(), ranks: of.ranks() };
            self.inner.kind = ErrorKind::of(Detail::Ranks(apart));
        }
        self
    }

    /// The error of a routine that a pipeline calls. It consists of the routine's name and what it returned.
    /// If the device fails too, the text says that as well.
    ///
    /// ```
    /// use thalweg::Error;
    ///
    /// let error = Error::routine("cublasSaxpy", "CUBLAS_STATUS_NOT_INITIALIZED");
    /// assert_eq!(error.to_string(), "`cublasSaxpy` failed: CUBLAS_STATUS_NOT_INITIALIZED");
    /// ```
    pub fn routine(routine: impl Into<String>, status: impl Into<String>) -> Self {
        Detail::Routine { routine: routine.into(), status: status.into(), device: None }.into()
    }

    /// The error of a crate with routines that pipelines call. The crate's users get `error` back by
    /// [`downcast_ref`](Library::downcast_ref). `Display` begins with what `error` displays. If the device
    /// fails too, the text says that as well.
    ///
    /// ```
    /// use thalweg::{Error, ErrorKind};
    ///
    /// let error = Error::library(std::fmt::Error);
    /// let ErrorKind::Library(library) = error.kind() else { unreachable!() };
    /// assert!(library.downcast_ref::<std::fmt::Error>().is_some());
    /// ```
    pub fn library(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Detail::Library { error: std::sync::Arc::new(error), device: None }.into()
    }

    /// The kind of the error, to match on.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.kind
    }

    /// All that is known about what happened. It is not part of the interface: it changes with any release.
    #[doc(hidden)]
    pub fn detail(&self) -> &Detail {
        self.inner.kind.detail()
    }

    /// The seed of the schedule in which an [explored](crate::explore) program has failed; `None` for any
    /// other error. The seed alone makes [`explore::replay`](crate::explore::replay) run the same orders
    /// again.
    pub fn seed(&self) -> Option<u64> {
        match *self.detail() {
            Detail::Schedule { seed, .. } => Some(seed),
            _ => None,
        }
    }

    /// Adds what the device reported at the end of a run in which a routine failed.
    pub(crate) fn with_cause(mut self, cause: Box<DriverError>) -> Self {
        if let Detail::Routine { device, .. } | Detail::Library { device, .. } = self.inner.kind.detail_mut()
        {
            *device = Some(cause);
        }
        self
    }

    /// The place in the pipeline that the error belongs to.
    pub fn place(&self) -> &Place {
        &self.inner.place
    }

    /// The device that has failed, as a number in the list that the pipeline was built on; `None` if that has one
    /// device only, or the error is about none of them.
    pub fn device(&self) -> Option<usize> {
        self.inner.device.as_ref().map(|(number, _)| *number)
    }

    /// How much of each output had been delivered when a run failed. It is empty for errors before the first
    /// chunk.
    pub fn complete(&self) -> &[Complete] {
        &self.inner.complete
    }

    /// Fills in the parts of the place that are not known yet.
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

    /// Adds which of several devices has failed.
    pub(crate) fn on_device(mut self, number: usize, name: String) -> Self {
        self.inner.device.get_or_insert((number, name));
        self
    }

    /// Adds where the run was called, unless the error belongs to one of its operations or chunks.
    pub(crate) fn of_run_at(self, called: Option<&'static Location<'static>>) -> Self {
        let Place { operation, chunk, .. } = self.inner.place;
        let run = called.filter(|_| operation.is_none() && chunk.is_none()).map(Site::from);
        self.at(Place { run, ..Place::default() })
    }

    /// Says that the error came up in one of many orders.
    pub(crate) fn in_schedule(mut self, number: u64, seed: u64) -> Self {
        let skipped = ErrorKind::of(Detail::Skipped);
        let cause = Box::new(std::mem::replace(&mut self.inner.kind, skipped).into_detail());
        self.inner.kind = ErrorKind::of(Detail::Schedule { number, seed, cause });
        self
    }

    pub(crate) fn with_complete(mut self, complete: Vec<Complete>) -> Self {
        self.inner.complete = complete;
        self
    }
}

#[doc(hidden)]
impl From<RanksDetail> for Error {
    fn from(detail: RanksDetail) -> Self {
        Self::new(Detail::Ranks(detail))
    }
}

#[doc(hidden)]
impl From<Detail> for Error {
    fn from(detail: Detail) -> Self {
        Self::new(detail)
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Self {
        Box::new(error).into()
    }
}

#[doc(hidden)]
impl From<Box<DriverError>> for Error {
    fn from(error: Box<DriverError>) -> Self {
        Self::new(match error.detail.as_deref() {
            Some(DriverDetail::Forked) => Detail::Forked,
            _ => Detail::Driver(error),
        })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let detail = self.detail();
        if detail.is_of_a_routine() {
            return detail.library_error().map(|error| error as _);
        }
        detail.driver_error().map(|error| error as _).or_else(|| detail.io_error().map(|error| error as _))
    }
}

/// The same as `Display`, so that `fn main() -> thalweg::Result<()>` prints text for people.
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
        if let Some((number, name)) = &self.inner.device {
            write!(f, "\n  on device {number}, {name}")?;
        }
        if let Some(site) = place.site {
            write!(f, "\n  at {site}")?;
        }
        if let Some(run) = place.run {
            write!(f, "\n  in the run at {run}")?;
        }
        if let Some(error) = self.detail().driver_error()
            && !self.detail().is_of_a_routine()
            && error.is_asynchronous()
            && place.operation.is_none()
        {
            write!(f, "\n  help: run with THALWEG_SYNC=1 to learn which operation failed")?;
        }
        for complete in &self.inner.complete {
            let &Complete { host, chunks, items, elements } = complete;
            // An output that is `per chunk` has as many items as chunks, so items would say nothing about
            // elements.
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
