//! [`Cancel`]: asks runs to end.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local!(static CURRENT: RefCell<Vec<Cancel>> = const { RefCell::new(Vec::new()) });

/// Asks runs to end, between chunks, from any thread. A clone asks the same runs.
///
/// ```
/// use thalweg::job::Cancel;
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [f32];
/// #         output z: [f32];
/// #         chunk c = 4;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let mut through = Through::new(&Device::simulated(Simulation::h200()))?;
/// let (cancel, mut z) = (Cancel::new(), [0.0; 100]);
/// cancel.during(|| through.run(&[1.0; 100], &mut z))?; // nobody has asked
///
/// cancel.cancel(); // most often from another thread, while the run goes on
/// let ended = cancel.during(|| through.run(&[2.0; 100], &mut z)).unwrap_err();
/// assert!(matches!(ended.kind(), ErrorKind::Cancelled(_)));
/// # Ok::<(), Error>(())
/// ```
///
/// The error of a cancelled run says in [`Error::complete`](crate::Error::complete) how much of its results
/// has arrived.
#[derive(Debug, Clone, Default)]
pub struct Cancel {
    asked: Arc<AtomicBool>,
}

impl Cancel {
    /// A handle that has not asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the runs to end. Chunks that were begun are finished: a run that is under way ends after the
    /// chunks that it has enqueued.
    pub fn cancel(&self) {
        self.asked.store(true, Ordering::Release);
    }

    /// Whether the runs were asked to end.
    pub fn is_cancelled(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }

    /// Calls `work`. Runs that it starts on this thread can be asked to end: they fail with
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled). Runs on threads that it starts are not asked.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                // If the thread's list is already destroyed, nothing is lost.
                let _ = CURRENT.try_with(|current| current.borrow_mut().pop());
            }
        }
        CURRENT.with(|current| current.borrow_mut().push(self.clone()));
        let _leave = Leave;
        work()
    }
}

/// The handles that may ask a run that begins here to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cancels(Vec<Cancel>);

impl Cancels {
    pub(crate) fn of_this_thread() -> Self {
        Self(CURRENT.try_with(|current| current.borrow().clone()).unwrap_or_default())
    }

    pub(crate) fn any(&self) -> bool {
        self.0.iter().any(Cancel::is_cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_around_it_ask() {
        let (outer, inner) = (Cancel::new(), Cancel::new());
        assert!(!Cancels::of_this_thread().any());
        outer.during(|| {
            inner.during(|| inner.cancel());
            assert!(!Cancels::of_this_thread().any());
            inner.during(|| assert!(Cancels::of_this_thread().any()));
            let unwound = std::panic::catch_unwind(|| inner.during(|| panic!("out of it")));
            assert!(unwound.is_err() && !Cancels::of_this_thread().any());
            outer.clone().cancel();
            assert!(Cancels::of_this_thread().any());
        });
        assert!(!Cancels::of_this_thread().any());
    }
}
