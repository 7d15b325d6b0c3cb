//! The progress of a run, and those who are told of it.

#[cfg(feature = "progress")]
mod bar;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// Locked while the listener is told, so that the threads of several devices tell it in order.
    so_far: Mutex<SoFar>,
}

#[derive(Debug, Default)]
struct SoFar {
    total: usize,
    /// The number of items that each device has done.
    done: Vec<usize>,
    /// The last number that was told.
    told: Option<usize>,
}

impl RunProgress {
    pub(crate) fn new(listener: Listener, pipeline: &'static str, total: usize) -> Self {
        Self { listener, pipeline, so_far: Mutex::new(SoFar { total, ..SoFar::default() }) }
    }

    fn so_far(&self) -> MutexGuard<'_, SoFar> {
        // A listener that panics leaves the numbers as they are.
        self.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self) {
        self.at(0, 0);
    }

    /// Sets the number of items, which is now known.
    pub(crate) fn had(&self, items: usize) {
        let mut so_far = self.so_far();
        if std::mem::replace(&mut so_far.total, items) != items {
            // If `items` were told before they were known to be all, they are told again.
            so_far.told = so_far.told.filter(|&told| told < items);
        }
    }

    /// Notes the number of items that a device has done, and tells that of all devices if it is larger than the last
    /// one told.
    pub(crate) fn at(&self, device: usize, done: usize) {
        let mut so_far = self.so_far();
        if so_far.done.len() <= device {
            so_far.done.resize(device + 1, 0);
        }
        so_far.done[device] = done;
        let done = so_far.done.iter().sum();
        self.tell(&mut so_far, done);
    }

    fn tell(&self, so_far: &mut SoFar, done: usize) {
        if so_far.told.is_none_or(|told| told < done) {
            so_far.told = Some(done);
            self.listener.0.at(Progress { pipeline: self.pipeline, done, total: so_far.total });
        }
    }

    /// Tells that all of the run is done.
    pub(crate) fn end(&self) {
        let mut so_far = self.so_far();
        let total = so_far.total;
        self.tell(&mut so_far, total);
    }
}

impl Drop for RunProgress {
    fn drop(&mut self) {
        let so_far = self.so_far.get_mut().unwrap_or_else(PoisonError::into_inner);
        if so_far.told.is_some_and(|told| told < so_far.total) {
            self.listener.0.failed();
        }
    }
}
