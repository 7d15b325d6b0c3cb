//! Waiting on the host, during which the commands are carried out.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::device::Cpu;
use super::queue::Record;
use super::state::{Next, State};
use crate::base::error::DriverError;
use crate::base::unwind::contain;
use crate::driver::{DriverResult, RawStream, fault};

// Note 66: those who wait for the CPU carry it on.
/// What a thread waits for. A function on the host may wait for what this thread does next. So a thread
/// carries out those only that it waits for.
#[derive(Clone, Copy)]
enum For {
    /// A stream, by its handle.
    Stream(u64),
    Everything,
}

impl Cpu {
    pub(super) fn wait_for_stream(&self, stream: RawStream) -> DriverResult<()> {
        let call = "cuStreamSynchronize";
        fault::refuse_inside(call)?;
        let mut state = self.state();
        let target = state.stream(call, stream)?.enqueued;
        let mut state = self.wait_until(call, For::Stream(stream.0), state, |state| {
            // Another thread may have destroyed the stream, once it was empty.
            state.streams.get(stream.0).is_none_or(|stream| stream.completed >= target)
        })?;
        state.take_failure(stream).map_or(Ok(()), Err)
    }

    /// Waits for every stream. A failure in a stream is reported by that stream's own synchronisation.
    pub(super) fn wait_for_all(&self) -> DriverResult<()> {
        let call = "cuCtxSynchronize";
        fault::refuse_inside(call)?;
        let state = self.state();
        let targets: Vec<_> =
            state.streams.iter().map(|(handle, stream)| (handle, stream.enqueued)).collect();
        let state = self.wait_until(call, For::Everything, state, |state| {
            let is_over = |&(handle, target): &(u64, u64)| {
                state.streams.get(handle).is_none_or(|stream| stream.completed >= target)
            };
            targets.iter().all(is_over)
        })?;
        drop(state);
        Ok(())
    }

    pub(super) fn wait_for_record(&self, call: &'static str, record: &Arc<Record>) -> DriverResult<()> {
        fault::refuse_inside(call)?;
        let is_complete = |_: &State| record.outcome.get().is_some();
        drop(self.wait_until(call, For::Stream(record.stream), self.state(), is_complete)?);
        let failure = record.outcome.get().and_then(|outcome| outcome.failure.as_ref());
        failure.map_or(Ok(()), |failure| failure.pending())
    }

    /// Carries out one command, if one could begin.
    pub(super) fn go_on(&self) {
        if fault::refuse_inside("cuStreamQuery").is_err() {
            return;
        }
        let mut state = self.settled(self.state());
        // Functions come last: one may wait for what this thread does next.
        let next = state.next(|_| false).or_else(|| state.next(|_| true));
        if let Some(next) = next {
            state = self.carry_out(state, next);
        }
        drop(self.settled(state));
    }

    /// Carries out commands until `is_done`. Threads that find nothing that could begin sleep until another
    /// thread has carried out a command.
    fn wait_until<'a>(
        &'a self,
        call: &'static str,
        wanted: For,
        mut state: MutexGuard<'a, State>,
        is_done: impl Fn(&State) -> bool,
    ) -> DriverResult<MutexGuard<'a, State>> {
        loop {
            state = self.settled(state);
            if is_done(&state) {
                return Ok(state);
            }
            let needed = match wanted {
                For::Stream(stream) => state.needed(stream),
                For::Everything => None,
            };
            let may_run = |stream| matches!(wanted, For::Everything) || needed == Some(stream);
            if let Some(next) = state.next(may_run) {
                state = self.carry_out(state, next);
            } else if state.is_busy() {
                state.asleep += 1;
                state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.asleep -= 1;
            } else {
                // Waits are for earlier records only, so this does not happen.
                let description = "nothing is left to do, but something is waited for";
                return Err(DriverError::new(call, 999, "CUDA_ERROR_UNKNOWN", description));
            }
        }
    }

    /// The state with everything complete that is no work, and nothing left to drop.
    fn settled<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if state.settle() && state.asleep > 0 {
            self.moved.notify_all();
        }
        while !state.skipped.is_empty() {
            release(state);
            state = self.state();
        }
        state
    }

    /// Carries out work without the lock.
    fn carry_out<'a>(&'a self, state: MutexGuard<'a, State>, next: Next) -> MutexGuard<'a, State> {
        let Next { stream, tag, action } = next;
        drop(state);
        // SAFETY: the ranges were checked to lie in live allocations of this device when the command was
        // enqueued, whose provenance is exposed. `State::free` refuses to free them as long as a stream has
        // the command, and `running` of its stream has it until `finish`. Memory that copies are redirected
        // to stays as long by the promise of `redirect`, which also exposed it, and memory that was lent by
        // that of `lend`. A command that conflicts with this one is on the same stream, or was made to wait
        // for it, by the promise of `enqueue`; so no other thread carries it out now. And the host does not
        // access the memory before it has waited.
        let result = unsafe { self.hands.carry_out(action, tag) };
        let mut state = self.state();
        if let Ok(Some(time)) = result
            && !tag.is_by_hand()
        {
            state.note_serial(tag, time);
        }
        state.finish(stream, result.map(drop));
        if state.asleep > 0 {
            self.moved.notify_all();
        }
        state
    }
}

/// Releases the lock, and drops the work that will not be carried out. Dropping a host body drops everything
/// that it has captured, which may call this device, and may panic.
pub(super) fn release(mut state: MutexGuard<'_, State>) {
    let skipped = std::mem::take(&mut state.skipped);
    drop(state);
    skipped.into_iter().for_each(|action| contain(|| drop(action)));
}
