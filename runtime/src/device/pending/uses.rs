//! [`Uses`]: which operations of streams use which bytes of an allocation, until the host has waited for
//! them.
//!
//! There are two consequences. Memory is freed, and shown to the CPU, only after its operations. And an
//! operation is refused if nothing orders it with an earlier one on the same bytes and one of the two writes.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::caller::Caller;
pub(crate) use super::known::Replaced;
use super::known::{Known, Segment};
use super::progress::{Clock, Progress};
use crate::base::error::{Detail, Error, Result};

/// An operation is pending that reads.
const READS: u8 = 1;
/// An operation is pending that writes.
const WRITES: u8 = 2;

/// How one operation of a stream uses memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) number: u64,
    pub(crate) caller: Caller,
    pub(crate) write: bool,
    /// Whether the driver has refused it, so that failures of its stream do not concern the memory.
    pub(crate) refused: bool,
}

/// An operation that uses memory, and its stream.
#[derive(Debug, Clone)]
pub(crate) struct Use {
    pub(crate) progress: Arc<Progress>,
    pub(crate) operation: Operation,
}

impl Use {
    /// The use by another operation of the stream.
    pub(crate) fn with_number(&self, number: u64) -> Self {
        Self { progress: Arc::clone(&self.progress), operation: Operation { number, ..self.operation } }
    }

    pub(crate) fn write(&self) -> bool {
        self.operation.write
    }

    pub(crate) fn is_over(&self) -> bool {
        self.progress.has_reached(self.operation.number)
    }

    /// Whether it matters in which order it and a later use are.
    #[inline]
    pub(crate) fn conflicts_with(&self, write: bool) -> bool {
        write || self.write()
    }

    /// Whether it need not be kept beside a later use that comes after it.
    ///
    /// This is so if the later one conflicts with whatever it conflicts with: what must come after it also comes after the
    /// later one. And what is over need not be kept at all.
    #[inline]
    pub(crate) fn gives_way_to(&self, write: bool) -> bool {
        write || !self.write() || self.is_over()
    }

    /// The error of a use that is over, if it was to write and has failed.
    pub(crate) fn failure(&self) -> Option<Error> {
        let Operation { number, write, refused, .. } = self.operation;
        if write && !refused { self.progress.failure(number) } else { None }
    }

    /// Whether both belong to the same operation.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.operation.number == other.operation.number && Arc::ptr_eq(&self.progress, &other.progress)
    }
}

/// The next operation of a stream.
#[derive(Clone, Copy)]
pub(crate) struct Next<'n> {
    pub(crate) progress: &'n Arc<Progress>,
    /// Everything that it comes after if it is enqueued, apart from its own stream.
    pub(crate) clock: &'n Clock,
    pub(crate) number: u64,
    pub(crate) caller: Caller,
}

impl Next<'_> {
    pub(crate) fn operation(&self, write: bool) -> Operation {
        Operation { number: self.number, caller: self.caller, write, refused: false }
    }

    pub(crate) fn to_use(self, write: bool) -> Use {
        Use { progress: Arc::clone(self.progress), operation: self.operation(write) }
    }

    /// Whether that is its stream.
    pub(crate) fn is_on(&self, progress: &Arc<Progress>) -> bool {
        Arc::ptr_eq(self.progress, progress)
    }

    /// Whether another use may be that of a loop's turn before.
    pub(crate) fn is_like(&self, earlier: &Use, write: bool) -> bool {
        let Operation { caller, write: its, refused, .. } = earlier.operation;
        self.is_on(&earlier.progress) && caller.is(self.caller) && its == write && !refused
    }

    /// Whether an earlier use is one of its own: an operation may use the same bytes in several ways.
    pub(crate) fn is(&self, earlier: &Use) -> bool {
        earlier.operation.number == self.number && self.is_on(&earlier.progress)
    }

    /// Whether it comes after an earlier use.
    pub(crate) fn comes_after(&self, earlier: &Use) -> bool {
        self.comes_after_operation(&earlier.progress, earlier.operation.number)
    }

    /// Whether it comes after an operation, and so after all that are before this one on its stream.
    pub(crate) fn comes_after_operation(&self, progress: &Arc<Progress>, number: u64) -> bool {
        self.is_on(progress) || progress.has_reached(number) || self.clock.covers(progress, number)
    }
}

/// An allocation that operations use.
pub(crate) trait Memory: Send + Sync {
    fn uses(&self) -> &Uses;
    /// Whether the CPU has references to it.
    fn is_on_host(&self) -> bool;
}

/// A handle of an allocation, which an operation borrows.
pub(crate) trait MemoryHandle: Send + Sync {
    fn memory(&self) -> &dyn Memory;
    /// Another handle of it.
    fn share(&self) -> Arc<dyn Memory>;
}

impl<M: Memory + 'static> MemoryHandle for Arc<M> {
    fn memory(&self) -> &dyn Memory {
        &**self
    }

    fn share(&self) -> Arc<dyn Memory> {
        Arc::clone(self) as _
    }
}

impl MemoryHandle for Arc<dyn Memory> {
    fn memory(&self) -> &dyn Memory {
        &**self
    }

    fn share(&self) -> Arc<dyn Memory> {
        Arc::clone(self)
    }
}

/// Whether both are the same allocation.
pub(crate) fn is_same(one: &Arc<dyn Memory>, other: &Arc<dyn Memory>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}

/// Memory that an operation uses.
#[derive(Clone)]
pub(crate) struct Used<'m> {
    pub(crate) memory: &'m dyn MemoryHandle,
    /// Those of the memory.
    pub(crate) uses: &'m Uses,
    pub(crate) bytes: Range<u64>,
    pub(crate) write: bool,
    /// Whether all of it is written, whatever it held before. This is not so for memory that is changed in
    /// place.
    pub(crate) anew: bool,
}

impl<'m> Used<'m> {
    /// Memory that is read or written in full.
    ///
    /// # Errors
    /// It was left to the device.
    #[inline]
    pub(crate) fn checked<M: Memory + 'static>(
        memory: &'m Arc<M>,
        bytes: Range<u64>,
        write: bool,
    ) -> Result<Self> {
        let used = Self { memory, uses: memory.uses(), bytes, write, anew: write };
        used.check().map(|()| used)
    }

    /// Refuses memory that was left to the device.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.uses.is_poisoned() { Err(self.poisoned()) } else { Ok(()) }
    }

    #[cold]
    fn poisoned(&self) -> Error {
        Detail::Poisoned { host: self.host() }.into()
    }

    /// The type of the buffer that has the memory.
    pub(crate) fn host(&self) -> &'static str {
        if self.is_on_host() { "PinnedBuf" } else { "DeviceBuf" }
    }

    /// Whether the CPU has references to it.
    pub(crate) fn is_on_host(&self) -> bool {
        self.memory.memory().is_on_host()
    }

    /// Notes that the operation will be carried out: no earlier failure matters for what it writes anew.
    pub(crate) fn is_taken(&self) {
        if self.anew {
            self.uses.are_written_anew(&self.bytes);
        }
    }

    /// All of these and other memory, if there is other memory.
    #[inline]
    pub(crate) fn and(these: &[Self], others: Option<&'m [Kept]>) -> Option<Vec<Self>> {
        others.map(|others| these.iter().cloned().chain(others.iter().map(Kept::used)).collect())
    }

    /// The same memory, kept.
    pub(crate) fn keep(&self) -> Kept {
        let Self { memory, ref bytes, write, anew, .. } = *self;
        Kept { memory: memory.share(), bytes: bytes.clone(), write, anew }
    }
}

/// Memory that an operation uses, with a handle of its own: a graph's, and memory that overlaps other memory.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) memory: Arc<dyn Memory>,
    pub(crate) bytes: Range<u64>,
    pub(crate) write: bool,
    /// As in [`Used`].
    pub(crate) anew: bool,
}

impl Kept {
    /// The memory for an operation.
    pub(crate) fn used(&self) -> Used<'_> {
        let Self { ref memory, ref bytes, write, anew } = *self;
        Used { memory, uses: memory.uses(), bytes: bytes.clone(), write, anew }
    }
}

/// The uses of one allocation, by address, and the failures among those that are over.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// Whether the segments have reads and writes. It is read without the lock.
    pending: AtomicU8,
    /// The number of runs, and of copies that are waited for, that hold the memory.
    runs: AtomicU32,
    /// Whether the memory was left to the device for good.
    poisoned: AtomicBool,
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

    /// Leaves the memory to the device for good.
    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    fn locked(&self) -> MutexGuard<'_, Known> {
        // No code of the user's runs under the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The earlier use that nothing orders with the next operation.
    pub(crate) fn conflict(&self, bytes: &Range<u64>, write: bool, next: &Next<'_>) -> Option<Use> {
        self.locked().conflict(bytes, write, next)
    }

    /// Notes a use of some bytes before the driver is asked. From now on callers wait for it, and no longer for what it
    /// comes after, which is added to `replaced` with the number of this `part` of the operation's memory. Returns whether an
    /// earlier operation is known to have failed.
    ///
    /// If the operation is not enqueued, the caller [puts that back](Self::put_back), and then says so with
    /// [`forget`](Self::forget) or [`is_refused`](Self::is_refused), before its stream can be waited for.
    ///
    /// # Errors
    /// A run holds the memory, or `matters` is true and nothing orders an earlier use with this one.
    pub(crate) fn note(
        &self,
        bytes: &Range<u64>,
        (next, write): (&Next<'_>, bool),
        matters: bool,
        (part, replaced): (usize, &mut Vec<Replaced>),
    ) -> Result<bool, Refused> {
        if bytes.is_empty() {
            return Ok(false);
        }
        let mut known = self.locked();
        if self.runs.load(Ordering::Acquire) > 0 {
            return Err(Refused::Held);
        }
        known.note(bytes, (next, write), matters, (part, replaced)).map_err(Refused::Race)?;
        self.note_pending(if write { WRITES } else { READS });
        Ok(!known.failures.is_empty())
    }

    /// Notes that an operation of this kind is pending. The caller has the lock.
    fn note_pending(&self, kind: u8) {
        // It changes under the lock only.
        let pending = self.pending.load(Ordering::Relaxed);
        if pending & kind == 0 {
            self.pending.store(pending | kind, Ordering::Release);
        }
    }

    /// Adds what uses of an operation have taken the place of, since it is not enqueued.
    #[cold]
    pub(crate) fn put_back<'r>(&self, replaced: impl Iterator<Item = &'r Replaced>) {
        let mut known = self.locked();
        known.put_back(replaced);
        self.note_pending(READS | WRITES);
    }

    /// Forgets a use that was noted, and for which the driver was not asked. What all parts of the operation have taken the
    /// place of was [put back](Self::put_back) before: one part may have replaced what another part's bytes are used for.
    #[cold]
    pub(crate) fn forget(&self, bytes: &Range<u64>, next: &Next<'_>) {
        self.locked().forget(bytes, next);
    }

    /// Notes that the driver has refused an operation whose use was noted. Callers still wait for it, since the driver may
    /// have taken a part.
    #[cold]
    pub(crate) fn is_refused(&self, bytes: &Range<u64>, next: &Next<'_>) {
        let mut known = self.locked();
        known.uses_mut(bytes).filter(|each| next.is(each)).for_each(|each| each.operation.refused = true);
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
            let mut known = other.locked();
            known.make_segments(bytes);
            (known.segments.clone(), known.failures.within(bytes))
        };
        let mut known = self.locked();
        for (start, Segment { end, uses }) in segments {
            let common = start.max(bytes.start)..end.min(bytes.end);
            if common.is_empty() {
                continue;
            }
            for each in uses {
                self.note_pending(if each.write() { WRITES } else { READS });
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
        let Known { segments, series, failures, .. } = &mut *known;
        let mut pending = 0;
        let mut note = |left: &Use| pending |= if left.write() { WRITES } else { READS };
        series.forget_over(failures);
        series.last().for_each(|left| note(&left));
        segments.retain(|&start, segment| {
            if let Some(error) = segment.forget_over() {
                failures.add(start..segment.end, error);
            }
            segment.uses.iter().for_each(&mut note);
            !segment.uses.is_empty()
        });
        if pending == 0 {
            series.begin_anew();
        }
        self.pending.store(pending, Ordering::Release);
    }

    /// Waits on the host until no operation is left that writes the memory, or none that uses it if
    /// `writes_only` is false. Returns `false` if that cannot be waited for. A failure in a stream is
    /// reported by the stream.
    #[cold]
    pub(crate) fn settle(&self, writes_only: bool) -> bool {
        loop {
            self.prune();
            let (last, put_back) = self.last(writes_only);
            let settled = last.iter().all(|left| left.progress.wait_for(left.operation.number));
            self.prune();
            let is_left = if writes_only { self.is_written() } else { self.is_used() };
            // An operation may have been refused meanwhile, and others be waited for in its place.
            if !settled || !is_left || self.locked().put_back == put_back {
                return settled;
            }
        }
    }

    /// The last use of each stream, of those that write or of all, and how often uses were put back so far.
    fn last(&self, writes_only: bool) -> (Vec<Use>, u64) {
        let (known, mut last) = (self.locked(), Vec::<Use>::new());
        let mut note =
            |left: &Use| match last.iter_mut().find(|known| Arc::ptr_eq(&known.progress, &left.progress)) {
                _ if writes_only && !left.write() => {}
                Some(known) => known.operation.number = known.operation.number.max(left.operation.number),
                None => last.push(left.clone()),
            };
        known.segments.values().flat_map(|segment| &segment.uses).for_each(&mut note);
        known.series.last().for_each(|left| note(&left));
        (last, known.put_back)
    }
}

#[cfg(test)]
mod tests;
