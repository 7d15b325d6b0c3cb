//! [`Uses`]: which operations of streams use which bytes of an allocation, until the host has waited for
//! them.
//!
//! There are two consequences. Memory is freed, and shown to the CPU, only after its operations. And an
//! operation is refused if nothing orders it with an earlier one on the same bytes and one of the two writes.

use std::ops::Range;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::caller::Caller;
use super::known::{Known, Segment};
use super::progress::{Clock, Progress};
use crate::base::error::{Error, Result};

/// An operation is pending that reads.
const READS: u8 = 1;
/// An operation is pending that writes.
const WRITES: u8 = 2;

/// One operation of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Use {
    pub(crate) progress: Arc<Progress>,
    pub(crate) number: u64,
    pub(crate) caller: Caller,
    pub(crate) write: bool,
    /// Whether the driver has refused it, so that failures of its stream do not concern the memory.
    pub(crate) refused: bool,
}

impl Use {
    pub(crate) fn is_over(&self) -> bool {
        self.progress.has_reached(self.number)
    }

    /// Whether both belong to the same operation.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.number == other.number && Arc::ptr_eq(&self.progress, &other.progress)
    }

    /// Whether it comes before the next operation of a stream, which comes after everything that the clock
    /// covers.
    pub(crate) fn is_before(&self, stream: &Arc<Progress>, clock: &Clock) -> bool {
        self.is_over() || Arc::ptr_eq(&self.progress, stream) || clock.covers(&self.progress, self.number)
    }
}

/// An allocation that operations use.
pub(crate) trait Memory: Send + Sync {
    fn uses(&self) -> &Uses;
    /// Whether the CPU has references to it.
    fn is_on_host(&self) -> bool;
    /// Whether it was left to the device.
    fn is_poisoned(&self) -> bool;
}

/// Whether both are the same allocation.
pub(crate) fn is_same(one: &Arc<dyn Memory>, other: &Arc<dyn Memory>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// Memory that an operation uses.
#[derive(Clone)]
pub(crate) struct Used {
    pub(crate) memory: Arc<dyn Memory>,
    pub(crate) bytes: Range<u64>,
    pub(crate) write: bool,
    /// Whether all of it is written, whatever it held before. This is not so for memory that is changed in
    /// place.
    pub(crate) anew: bool,
}

/// The uses of one allocation, by address, and the failures among those that are over.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// Whether the segments have reads and writes. It is read without the lock.
    pending: AtomicU8,
    /// The number of runs, and of copies that are waited for, that hold the memory.
    runs: AtomicU32,
    known: Mutex<Known>,
}

/// Why a use is not noted.
#[derive(Debug)]
pub(crate) enum Refused {
    /// A run holds the memory.
    Held,
    Race(Box<Use>),
}

/// Memory that a run holds until this is dropped.
pub(crate) struct Held(Arc<dyn Memory>);

impl Held {
    pub(crate) fn new(memory: Arc<dyn Memory>) -> Self {
        memory.uses().hold();
        Self(memory)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.uses().give_back();
    }
}

impl Uses {
    /// Whether an operation may still write it.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.pending.load(Ordering::Acquire) & WRITES != 0
    }

    /// Whether an operation may still use it.
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.pending.load(Ordering::Acquire) != 0
    }

    fn locked(&self) -> MutexGuard<'_, Known> {
        // No code of the user's runs under the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The earlier use that nothing orders with the next one of a stream.
    pub(crate) fn conflict(
        &self,
        bytes: Range<u64>,
        write: bool,
        next: (&Arc<Progress>, &Clock),
    ) -> Option<Use> {
        self.locked().conflict(bytes, write, next)
    }

    /// Notes a use of some bytes before the driver is asked. From now on callers wait for it. `clock` covers
    /// the operations that come before it if it is enqueued. Returns whether the memory is to be told that the driver
    /// [has taken](Self::has_taken) it.
    ///
    /// # Errors
    /// A run holds the memory, or `matters` is true and nothing orders an earlier use with this one.
    pub(crate) fn note(
        &self,
        bytes: &Range<u64>,
        new: &Use,
        clock: &Clock,
        matters: bool,
    ) -> Result<bool, Refused> {
        if bytes.is_empty() {
            return Ok(false);
        }
        let mut known = self.locked();
        if self.runs.load(Ordering::Acquire) > 0 {
            return Err(Refused::Held);
        }
        let is_to_be_told = known
            .add_unless_raced(bytes, new, clock, matters)
            .map_err(|earlier| Refused::Race(Box::new(earlier)))?;
        let kind = if new.write { WRITES } else { READS };
        // It changes under the lock only.
        if self.pending.load(Ordering::Relaxed) & kind == 0 {
            self.pending.fetch_or(kind, Ordering::Release);
        }
        Ok(is_to_be_told)
    }

    /// Forgets a use that was noted, and for which the driver was not asked.
    #[cold]
    pub(crate) fn forget(&self, bytes: &Range<u64>, new: &Use) {
        self.locked().forget(bytes, new);
    }

    /// Notes that the driver has taken a use. Earlier uses are forgotten, and so are failures of the bytes
    /// that it writes `anew`, whatever they held.
    pub(crate) fn has_taken(&self, bytes: &Range<u64>, new: &Use, clock: &Clock, anew: bool) {
        if !bytes.is_empty() {
            self.locked().has_taken(bytes, new, clock, anew);
        }
    }

    /// Notes that the driver has refused a use. Callers still wait for it, since the driver may have taken a
    /// part.
    #[cold]
    pub(crate) fn has_refused(&self, bytes: &Range<u64>, new: &Use) {
        let mut known = self.locked();
        known.uses_mut(bytes).filter(|earlier| earlier.is(new)).for_each(|refused| refused.refused = true);
    }

    /// The error because of which some of these bytes may not be what an operation was to write. The caller
    /// has waited for pending operations.
    pub(crate) fn failure(&self, bytes: &Range<u64>) -> Option<Error> {
        self.locked().failures.first(bytes)
    }

    /// Notes that something other than a stream by hand has written these bytes anew.
    pub(crate) fn are_written_anew(&self, bytes: &Range<u64>) {
        self.locked().failures.remove(bytes);
    }

    /// Takes over what is known about some bytes of other memory, which are also bytes of this memory.
    pub(crate) fn adopt(&self, other: &Self, bytes: &Range<u64>) {
        // The two locks are never held at once.
        let (segments, failed) = {
            let known = other.locked();
            (known.segments.clone(), known.failures.within(bytes))
        };
        let mut known = self.locked();
        for (start, Segment { end, uses }) in segments {
            let common = start.max(bytes.start)..end.min(bytes.end);
            if common.is_empty() {
                continue;
            }
            for each in uses {
                self.pending.fetch_or(if each.write { WRITES } else { READS }, Ordering::Release);
                known.add(&common, &each);
            }
        }
        for (bytes, error) in failed {
            known.failures.add(bytes, error);
        }
    }

    /// Gives the memory to a run: streams are refused until the run gives it back. Operations that are
    /// pending must still be waited for.
    fn hold(&self) {
        self.runs.fetch_add(1, Ordering::AcqRel);
        // Any use that was being noted at this moment has been noted after this.
        drop(self.locked());
    }

    fn give_back(&self) {
        self.runs.fetch_sub(1, Ordering::AcqRel);
    }

    /// Forgets the uses that are over.
    fn prune(&self) {
        let mut known = self.locked();
        let Known { segments, failures } = &mut *known;
        let mut pending = 0;
        segments.retain(|&start, segment| {
            if let Some(error) = segment.forget_over() {
                failures.add(start..segment.end, error);
            }
            for left in &segment.uses {
                pending |= if left.write { WRITES } else { READS };
            }
            !segment.uses.is_empty()
        });
        self.pending.store(pending, Ordering::Release);
    }

    /// Waits on the host until no operation is left that writes the memory, or none that uses it if
    /// `writes_only` is false. Returns `false` if that cannot be waited for. A failure in a stream is
    /// reported by the stream.
    #[cold]
    pub(crate) fn settle(&self, writes_only: bool) -> bool {
        self.prune();
        let mut last: Vec<Use> = Vec::new();
        for left in self.locked().segments.values().flat_map(|segment| &segment.uses) {
            if writes_only && !left.write {
                continue;
            }
            match last.iter_mut().find(|known| Arc::ptr_eq(&known.progress, &left.progress)) {
                Some(known) => known.number = known.number.max(left.number),
                None => last.push(left.clone()),
            }
        }
        let settled = last.iter().all(|left| left.progress.wait_for(left.number));
        self.prune();
        settled
    }
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::device::Device;
    use crate::sim::Simulation;

    #[track_caller]
    fn operation(progress: &Arc<Progress>, number: u64, write: bool) -> Use {
        let caller = Caller { what: "test", at: Location::caller() };
        Use { progress: Arc::clone(progress), number, caller, write, refused: false }
    }

    /// Notes a use that the driver takes.
    fn take(uses: &Uses, bytes: Range<u64>, new: &Use, clock: &Clock, matters: bool) -> Result<(), Refused> {
        if uses.note(&bytes, new, clock, matters)? {
            uses.has_taken(&bytes, new, clock, new.write);
        }
        Ok(())
    }

    #[track_caller]
    fn race_with(refused: Result<(), Refused>) -> Use {
        match refused {
            Err(Refused::Race(earlier)) => *earlier,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_nothing_orders_is_refused() {
        let device = Device::simulated(Simulation::default());
        let [one, other] = [(); 2].map(|()| Progress::new(&device));
        let (uses, none) = (Uses::default(), Clock::default());
        take(&uses, 0..64, &operation(&one, 1, true), &none, true).expect("the first");
        take(&uses, 0..8, &operation(&one, 2, false), &none, true).expect("the same stream");
        let earlier = race_with(take(&uses, 60..70, &operation(&other, 1, false), &none, true));
        assert!(earlier.write && earlier.number == 1);
        take(&uses, 64..70, &operation(&other, 2, true), &none, true).expect("other bytes");
        let mut waited = Clock::default();
        waited.advance(&one, 1);
        take(&uses, 8..64, &operation(&other, 3, true), &waited, true).expect("it has waited");
        let earlier = race_with(take(&uses, 0..1, &operation(&other, 4, true), &waited, true));
        assert!(!earlier.write && earlier.number == 2);
        one.reached(2);
        take(&uses, 0..1, &operation(&other, 4, true), &none, true).expect("that is over");
        assert!(uses.is_written());
        // The streams are gone, so the device is waited for.
        assert!(uses.settle(false) && !uses.is_used());
        uses.hold();
        let held = take(&uses, 0..1, &operation(&other, 5, true), &none, false);
        assert!(matches!(held, Err(Refused::Held)));
        uses.give_back();
    }

    /// Otherwise a loop that the host does not wait for would remember all of its turns.
    #[test]
    fn what_comes_before_a_write_is_forgotten() {
        let device = Device::simulated(Simulation::default());
        let [up, math] = [(); 2].map(|()| Progress::new(&device));
        let (uses, mut of_up, mut of_math) = (Uses::default(), Clock::default(), Clock::default());
        for turn in 1..1000 {
            take(&uses, 0..1024, &operation(&up, turn, true), &of_up, true).expect("in order");
            of_math.advance(&up, turn);
            take(&uses, 0..512, &operation(&math, turn, false), &of_math, true).expect("in order");
            of_up.advance(&math, turn);
        }
        let segments = &uses.locked().segments;
        assert!(segments.len() <= 3 && segments.values().all(|segment| segment.uses.len() <= 2));
    }

    /// An operation may use overlapping parts of one allocation.
    #[test]
    fn parts_of_one_operation_overlap() {
        let device = Device::simulated(Simulation::default());
        let [one, other] = [(); 2].map(|()| Progress::new(&device));
        let none = Clock::default();
        for parts in [[0..64, 40..50], [40..50, 0..64], [0..64, 32..96], [0..96, 0..64], [0..10, 0..64]] {
            let uses = Uses::default();
            let new = operation(&one, 1, true);
            let told = parts.clone().map(|part| uses.note(&part, &new, &none, true).expect("the first"));
            for (part, _) in parts.iter().zip(told).filter(|(_, is_to_be_told)| *is_to_be_told) {
                uses.has_taken(part, &new, &none, true);
            }
            for byte in parts[0].start..parts[0].end.max(parts[1].end) {
                if parts.iter().any(|part| part.contains(&byte)) {
                    let raced = uses.conflict(byte..byte + 1, false, (&other, &none));
                    assert!(raced.is_some_and(|earlier| earlier.is(&new)), "{parts:?}: {byte}");
                }
            }
            let known = uses.locked();
            let ends = known.segments.values().map(|segment| segment.end);
            assert!(ends.zip(known.segments.keys().skip(1)).all(|(end, start)| end <= *start), "{parts:?}");
        }
    }

    /// A use that is not checked is remembered nevertheless, since it must be waited for.
    #[test]
    fn what_does_not_matter_is_kept() {
        let device = Device::simulated(Simulation::default());
        let [one, other] = [(); 2].map(|()| Progress::new(&device));
        let (uses, none) = (Uses::default(), Clock::default());
        take(&uses, 0..64, &operation(&one, 1, true), &none, false).expect("the first");
        take(&uses, 0..64, &operation(&other, 1, true), &none, false).expect("not checked");
        other.reached(1);
        uses.prune();
        assert!(uses.is_used());
        one.reached(1);
        uses.prune();
        assert!(!uses.is_used());
    }
}
