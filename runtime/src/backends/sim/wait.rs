//! Waiting on the host, during which the simulation runs.

use std::ptr;
use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};

use super::device::Sim;
use super::job::{Job, Progress};
use super::machine::{Machine, Schedule};
use super::model::Nanos;
use super::queue::{Action, Record};
use super::{fault, unwritten};
use crate::base::crews::AT_ONCE;
use crate::base::host_copy::Way;
use crate::base::unwind::{contain, drop_payload};
use crate::driver::{DriverResult, RawStream};

impl Sim {
    pub(super) fn wait_for_stream(&self, stream: RawStream) -> DriverResult<()> {
        let call = "cuStreamSynchronize";
        fault::refuse_inside(call)?;
        let mut machine = self.machine();
        machine.begin(call, None, 0)?;
        let state = machine.stream(call, stream)?;
        let (lane, target) = (state.lane, state.enqueued);
        let clock = machine.order.record(lane);
        let (mut machine, at) = self.run_until(call, machine, Nanos::INFINITY, |machine| {
            match machine.streams.get(stream.0) {
                Some(stream) if stream.completed < target => None,
                Some(stream) => Some(stream.completed_at),
                // Another thread has destroyed the stream, and it is empty.
                None => Some(machine.now),
            }
        })?;
        machine.host_waited(at, &clock);
        machine.take_failure(stream).map_or(Ok(()), Err)
    }

    /// Waits for every stream. A failure in a stream is reported by that stream's own synchronisation.
    pub(super) fn wait_for_all(&self) -> DriverResult<()> {
        let call = "cuCtxSynchronize";
        fault::refuse_inside(call)?;
        let mut machine = self.machine();
        machine.begin(call, None, 0)?;
        let streams: Vec<_> =
            machine.streams.iter_mut().map(|(handle, state)| (handle, state.enqueued, state.lane)).collect();
        for (handle, target, lane) in streams {
            let clock = machine.order.record(lane);
            let is_over = |machine: &Machine| match machine.streams.get(handle) {
                Some(stream) if stream.completed < target => None,
                Some(stream) => Some(stream.completed_at),
                None => Some(machine.now),
            };
            let (after, at) = self.run_until(call, machine, Nanos::INFINITY, is_over)?;
            machine = after;
            machine.host_waited(at, &clock);
        }
        Ok(())
    }

    /// Advances the host's time a little, and the device with it.
    pub(super) fn go_on(&self) {
        if fault::refuse_inside("cuStreamQuery").is_err() {
            return;
        }
        let mut machine = self.machine();
        machine.host += machine.model.host_call;
        let until = machine.host;
        let adversarial = matches!(machine.schedule, Schedule::Adversarial(_));
        let begun = machine.carried_out();
        let is_enough = move |machine: &Machine| {
            // There is no order of time, so one thing happens at a time.
            let enough = if adversarial { machine.carried_out() != begun } else { machine.now >= until };
            (enough || machine.is_idle()).then_some(machine.now)
        };
        // The device does not get beyond the host's time, since the host's next command would begin too late.
        // A lost device does not advance, and reports that to the next call.
        let _ = self.run_until("cuStreamQuery", machine, until, is_enough);
    }

    pub(super) fn wait_for_record(&self, call: &'static str, record: &Arc<Record>) -> DriverResult<()> {
        fault::refuse_inside(call)?;
        let machine = self.machine();
        let complete = |_: &Machine| record.outcome.get().map(|outcome| outcome.at);
        let (mut machine, at) = self.run_until(call, machine, Nanos::INFINITY, complete)?;
        machine.host_waited(at, &record.clock);
        let failure = record.outcome.get().and_then(|outcome| outcome.failure.as_ref());
        failure.map_or(Ok(()), |failure| failure.pending())
    }

    /// Runs the simulation until `done` returns the time when everything that the caller waits for was
    /// complete, but not beyond `until` in the device's time.
    ///
    /// Copies and host bodies are carried out without the lock, one at a time. Other threads that wait
    /// meanwhile sleep.
    fn run_until<'a>(
        &'a self,
        call: &'static str,
        mut machine: MutexGuard<'a, Machine>,
        until: Nanos,
        done: impl Fn(&Machine) -> Option<Nanos>,
    ) -> DriverResult<(MutexGuard<'a, Machine>, Nanos)> {
        loop {
            machine.faults.alive()?;
            if let Some(at) = done(&machine) {
                return Ok((machine, at));
            }
            if machine.executing {
                machine.waiting += 1;
                machine = self.executed.wait(machine).unwrap_or_else(PoisonError::into_inner);
                machine.waiting -= 1;
                continue;
            }
            // This is set at each step: another thread that ran while this one slept may have to go further,
            // or less far.
            machine.until = until;
            match machine.step() {
                Progress::Moved => {}
                // Waits are for earlier records only, so this does not happen.
                Progress::Stuck => return Err(fault::stuck(call)),
                Progress::Run(mut job) => {
                    let stream = job.stream;
                    if let Action::Copy { to, from, bytes } = &mut job.action {
                        (*to, *from) = (
                            machine.memory.destination(*to, *bytes),
                            machine.memory.destination(*from, *bytes),
                        );
                    }
                    if let Some(before) = job.before.take() {
                        // A function knows that everything before it is over, and so does everyone that it
                        // tells.
                        let at = job.started;
                        machine.host_waited(at, &before);
                    }
                    machine.executing = true;
                    drop(machine);
                    let result = self.execute(job);
                    machine = self.machine();
                    machine.executing = false;
                    machine.finish(stream, result);
                    if machine.waiting > 0 {
                        self.executed.notify_all();
                    }
                }
            }
            if !machine.skipped.is_empty() {
                release(machine);
                machine = self.machine();
            }
        }
    }

    fn execute(&self, job: Job) -> DriverResult<()> {
        match job.action {
            // Copies of nothing may come with any address.
            Action::Copy { bytes: 0, .. } => Ok(()),
            Action::Copy { to, from, bytes } => {
                let from = ptr::with_exposed_provenance::<u8>(from);
                let to = ptr::with_exposed_provenance_mut::<u8>(to);
                // SAFETY: both ranges were checked to lie in live allocations of this device when the copy
                // was enqueued, whose provenance is exposed. `SimulatedMemory::remove` refuses to free them
                // until the host has waited for the copy, so they still do. They do not overlap: two
                // allocations differ, and `work::planned` refuses overlap within one. No other command is
                // carried out meanwhile, and the caller of the copy promised not to access the host's range
                // before it has waited. The same was promised of the memory that page-locked memory is
                // redirected to.
                unsafe { self.workers.copy(to, from, bytes, Way::Cached) };
                Ok(())
            }
            Action::Body(body) => {
                let found = Arc::new(OnceLock::new());
                let noted = Arc::clone(&found);
                let body = move || {
                    if let Some(unwritten) = unwritten::asked(body) {
                        // Nobody else sets it.
                        let _ = noted.set(unwritten);
                    }
                };
                AT_ONCE.run(Box::new(body)).map_err(|payload| fault::of_panic(job.tag, payload))?;
                found.get().map_or(Ok(()), |found| Err(fault::unwritten(job.tag, found.clone())))
            }
            Action::Host(function) => {
                if let Err(payload) = AT_ONCE.run(function) {
                    drop_payload(payload);
                }
                Ok(())
            }
        }
    }
}

/// Releases the lock, and drops the work that will not be carried out. Dropping a host body drops everything
/// that it has captured, which may call this device, and may panic.
pub(super) fn release(mut machine: MutexGuard<'_, Machine>) {
    let skipped = std::mem::take(&mut machine.skipped);
    drop(machine);
    skipped.into_iter().for_each(|action| contain(|| drop(action)));
}
