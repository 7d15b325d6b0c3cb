//! The progress of a run, and those who are told of it.

#[cfg(feature = "progress")]
mod bar;

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

// Note 28: progress waits for nothing.
/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Name of the pipeline's type.
    pub pipeline: &'static str,
    /// Items that are done so far.
    pub done: usize,
    /// Items of the run. It is `usize::MAX` for a run whose length its sources decide, until they have ended.
    pub total: usize,
}

impl Progress {
    /// Whether the run is over.
    pub fn is_complete(&self) -> bool {
        self.done == self.total
    }
}

/// The listener that a pipeline's options ask for.
#[derive(Clone, Default)]
pub(crate) enum Reporting {
    /// No listener.
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

/// The listener that is told.
#[derive(Clone)]
pub(crate) struct Listener(Arc<dyn Listen>);

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

trait Listen: Send + Sync {
    fn at(&self, progress: Progress);

    /// The run has failed, and nothing more is told of it.
    fn failed(&self) {}
}

struct Callback<F>(F);

impl<F: Fn(Progress) + Send + Sync> Listen for Callback<F> {
    fn at(&self, progress: Progress) {
        (self.0)(progress);
    }
}

/// The progress of one run and its listener. The run counts as failed if this is dropped before it has
/// [ended](Self::end).
#[derive(Debug)]
pub(crate) struct RunProgress {
    listener: Listener,
    pipeline: &'static str,
    total: Cell<usize>,
    /// The last number that was told.
    told: Cell<Option<usize>>,
}

impl RunProgress {
    pub(crate) fn new(listener: Listener, pipeline: &'static str, total: usize) -> Self {
        Self { listener, pipeline, total: Cell::new(total), told: Cell::new(None) }
    }

    pub(crate) fn begin(&self) {
        self.at(0);
    }

    /// Sets the number of items, which is now known.
    pub(crate) fn had(&self, items: usize) {
        if self.total.replace(items) != items {
            // If `items` were told before they were known to be all, they are told again.
            self.told.set(self.told.get().filter(|&told| told < items));
        }
    }

    /// Tells the number of items done, if it is larger than the last one told.
    pub(crate) fn at(&self, done: usize) {
        if self.told.get().is_none_or(|told| told < done) {
            self.told.set(Some(done));
            let (pipeline, total) = (self.pipeline, self.total.get());
            self.listener.0.at(Progress { pipeline, done, total });
        }
    }

    /// Tells that all of the run is done.
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
