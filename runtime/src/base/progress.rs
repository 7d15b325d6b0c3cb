//! How far a run is, for whoever asked to be told.

#[cfg(feature = "progress")]
mod bar;

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

// Note 28: progress waits for nothing.
/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Name of the pipeline's type.
    pub pipeline: &'static str,
    /// Items that are done, from 0.
    pub done: usize,
    /// Items of the run. `usize::MAX` of a run that ends where its sources do, until it has.
    pub total: usize,
}

impl Progress {
    /// Whether the run is over.
    pub fn is_complete(&self) -> bool {
        self.done == self.total
    }
}

/// Whom a pipeline tells, as its options say.
#[derive(Clone, Default)]
pub(crate) enum Reporting {
    /// Nobody.
    #[default]
    None,
    /// A bar of the pipeline's own.
    #[cfg(feature = "progress")]
    Bar,
    Callback(Listener),
}

impl Reporting {
    pub(crate) fn with(report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self::Callback(Listener(Arc::new(Callback(report))))
    }

    pub(crate) fn listener(&self) -> Option<Listener> {
        match self {
            Self::None => None,
            #[cfg(feature = "progress")]
            Self::Bar => Some(Listener(Arc::new(bar::Bar::on_standard_error()))),
            Self::Callback(listener) => Some(listener.clone()),
        }
    }
}

impl fmt::Debug for Reporting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            #[cfg(feature = "progress")]
            Self::Bar => "Bar",
            Self::Callback(_) => "Callback",
        })
    }
}

/// Who is told.
#[derive(Clone)]
pub(crate) struct Listener(Arc<dyn Listen>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

trait Listen: Send + Sync {
    fn at(&self, progress: Progress);

    /// The run has failed, and says no more.
    fn failed(&self) {}
}

struct Callback<F>(F);

impl<F: Fn(Progress) + Send + Sync> Listen for Callback<F> {
    fn at(&self, progress: Progress) {
        (self.0)(progress);
    }
}

/// How far one run is, and who is told. Unless it has [ended](Self::end) it has failed when it is dropped.
#[derive(Debug)]
pub(crate) struct RunProgress {
    listener: Listener,
    pipeline: &'static str,
    total: Cell<usize>,
    /// What was told last.
    told: Cell<Option<usize>>,
}

impl RunProgress {
    pub(crate) fn new(listener: Listener, pipeline: &'static str, total: usize) -> Self {
        Self { listener, pipeline, total: Cell::new(total), told: Cell::new(None) }
    }

    pub(crate) fn begin(&self) {
        self.at(0);
    }

    /// It is known now that there are so many items.
    pub(crate) fn had(&self, items: usize) {
        if self.total.replace(items) != items {
            // What was told without being known to be all is told again.
            self.told.set(self.told.get().filter(|&told| told < items));
        }
    }

    /// Tells of so many items, if these are more than were told.
    pub(crate) fn at(&self, done: usize) {
        if self.told.get().is_none_or(|told| told < done) {
            self.told.set(Some(done));
            let (pipeline, total) = (self.pipeline, self.total.get());
            self.listener.0.at(Progress { pipeline, done, total });
        }
    }

    /// All of it is done.
    pub(crate) fn end(self) {
        self.at(self.total.get());
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        if self.told.get().is_some_and(|told| told < self.total.get()) {
            self.listener.0.failed();
        }
    }
}
