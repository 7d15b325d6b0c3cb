//! [`Registry`]: what a device knows about the streams and the memory that users handle directly.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::allocations::Allocations;
use super::callbacks::{self, Callbacks};
use super::callers::Callers;
use super::launched::SharedFaults;
use super::progress::{Clock, Progress};
use super::stream::{Kind, Stream};
use super::uses::{Kept, Memory, Used, Uses, is_same};
use crate::base::error::{Error, Result};
use crate::driver::DevicePtr;

/// The registry of one device.
#[derive(Default)]
pub(crate) struct Registry {
    streams: Mutex<Vec<(Kind, Weak<dyn Stream>)>>,
    /// Held while a stream that exists only once is looked for and made.
    only: Mutex<()>,
    /// Held while something is enqueued on the null stream, or on a stream that it waits for.
    legacy: Mutex<()>,
    memory: Mutex<Allocations>,
    /// Whether some memory has bytes in common. It is read without the lock.
    overlap: AtomicBool,
    callers: Callers,
    callbacks: Mutex<Option<Callbacks>>,
    /// The kernels in Rust that streams by hand have launched.
    faults: Mutex<Vec<Arc<SharedFaults>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of the user's runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Registry {
    /// Has waits report the faults of a kernel.
    pub(crate) fn watch_faults(&self, faults: Arc<SharedFaults>) {
        locked(&self.faults).push(faults);
    }

    /// The fault of a kernel that a stream by hand has launched, for a wait that has reached a point. The next call tells of
    /// another one.
    pub(crate) fn take_fault(&self, clock: &Clock) -> Option<Error> {
        locked(&self.faults).iter().find_map(|faults| faults.take(clock))
    }

    /// Whether such a wait would be told of a fault.
    pub(crate) fn has_fault(&self, clock: &Clock) -> bool {
        locked(&self.faults).iter().any(|faults| faults.is_there(clock))
    }

    /// Notes that a stream has done its first `number` operations, and was asked for its faults.
    pub(crate) fn launches_are_over(&self, progress: &Arc<Progress>, number: u64) {
        locked(&self.faults).iter().for_each(|faults| faults.are_over(progress, number));
    }

    pub(crate) fn add_stream(&self, kind: Kind, stream: Weak<dyn Stream>) {
        locked(&self.streams).push((kind, stream));
    }

    pub(crate) fn remove_stream(&self, stream: &dyn Stream) {
        locked(&self.streams).retain(|(_, other)| !std::ptr::addr_eq(other.as_ptr(), stream));
    }

    /// The existing streams of some kinds. They must be dropped while no lock is held: the last handle of a
    /// stream waits for it.
    fn streams_of(&self, is_one: impl Fn(Kind) -> bool) -> Vec<Arc<dyn Stream>> {
        let streams = locked(&self.streams);
        streams.iter().filter(|(kind, _)| is_one(*kind)).filter_map(|(_, stream)| stream.upgrade()).collect()
    }

    /// The existing streams.
    pub(crate) fn streams(&self) -> Vec<Arc<dyn Stream>> {
        self.streams_of(|_| true)
    }

    /// The streams that the null stream waits for, and the null stream itself.
    pub(crate) fn legacy_streams(&self) -> Vec<Arc<dyn Stream>> {
        self.streams_of(Kind::is_legacy)
    }

    /// The only stream of its kind. If it does not exist, `make` makes it.
    pub(crate) fn only<S: Stream>(
        &self,
        kind: Kind,
        make: impl FnOnce() -> Result<Arc<S>>,
    ) -> Result<Arc<S>> {
        let _only = locked(&self.only);
        let known = self.streams_of(|other| other == kind).pop();
        known.and_then(|stream| stream.into_any().downcast().ok()).map_or_else(make, Ok)
    }

    pub(crate) fn legacy(&self) -> MutexGuard<'_, ()> {
        locked(&self.legacy)
    }

    /// Adds memory that operations may use, and returns its number. Operations that are pending on other
    /// memory with common bytes are pending on it, too.
    pub(crate) fn add_memory(&self, start: DevicePtr, bytes: usize, memory: &Arc<dyn Memory>) -> u64 {
        let bytes = start.range(bytes);
        let mut all = locked(&self.memory);
        let number = all.add(bytes.clone(), Arc::downgrade(memory));
        self.overlap.store(all.overlap(), Ordering::Release);
        let others = if all.overlap() { all.overlapping(&bytes) } else { Vec::new() };
        drop(all);
        for (other, _) in others.iter().filter(|(other, _)| !is_same(other, memory)) {
            memory.uses().adopt(other.uses(), &bytes);
        }
        number
    }

    /// Removes the memory with this number, which begins at `start`.
    pub(crate) fn remove_memory(&self, start: DevicePtr, number: u64) {
        let mut all = locked(&self.memory);
        all.remove(start.0, number);
        self.overlap.store(all.overlap(), Ordering::Release);
    }

    /// Whether some memory has bytes in common, because it was lent more than once.
    #[inline]
    pub(crate) fn has_overlaps(&self) -> bool {
        self.overlap.load(Ordering::Acquire)
    }

    /// All other memory that shares bytes with the memory that an operation uses. `None` if no memory overlaps.
    pub(crate) fn overlaps(&self, used: &[Used<'_>]) -> Option<Vec<Kept>> {
        self.has_overlaps().then(|| self.others(used))
    }

    #[cold]
    fn others(&self, used: &[Used<'_>]) -> Vec<Kept> {
        let mut others = Vec::new();
        for Used { uses, bytes, write, anew, .. } in used.iter().filter(|used| !used.is_on_host()) {
            let found = locked(&self.memory).overlapping(bytes);
            for (memory, its) in found.into_iter().filter(|(other, _)| !std::ptr::eq(other.uses(), *uses)) {
                let bytes = bytes.start.max(its.start)..bytes.end.min(its.end);
                others.push(Kept { memory, bytes, write: *write, anew: *anew });
            }
        }
        others
    }

    /// Notes that something other than a stream by hand has written these bytes of some memory. Earlier
    /// failures there no longer count.
    pub(crate) fn is_written_anew(&self, uses: &Uses, bytes: &Range<u64>) {
        uses.are_written_anew(bytes);
        if self.has_overlaps() {
            let found = locked(&self.memory).overlapping(bytes);
            found.iter().for_each(|(other, _)| other.uses().are_written_anew(bytes));
        }
    }

    /// Takes the failures of streams that were not reported: of those that are gone, and of those that exist.
    pub(crate) fn take_untold(&self) -> Option<Error> {
        let of_streams = || self.streams().iter().find_map(|stream| stream.take_kept());
        self.callers.take_untold().or_else(of_streams)
    }

    /// The callers of operations.
    pub(crate) fn callers(&self) -> &Callers {
        &self.callers
    }

    /// The channel to the thread for callbacks, which does one thing after another.
    pub(crate) fn callbacks(&self) -> Result<Callbacks> {
        let mut known = locked(&self.callbacks);
        match &*known {
            Some(sender) => Ok(sender.clone()),
            None => Ok(known.insert(callbacks::start()?).clone()),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("streams", &self.streams().len()).finish_non_exhaustive()
    }
}
