//! Waiting on the host, during which the simulation runs.

use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use std::{ptr, thread};

use super::device::Sim;
use super::job::{Executing, Job, Progress};
use super::machine::{Machine, Part};
use super::model::Nanos;
use super::queue::{Action, Record};
use super::turns::Wait;
use super::{fault, unwritten};
use crate::base::crews::AT_ONCE;
use crate::base::host_copy::Way;
use crate::base::unwind::{contain, drop_payload};
use crate::driver::{DriverResult, RawStream};

/// How long the host's threads wait for one that is busy, before they go on without it.
const PATIENCE: Duration = Duration::from_millis(200);

impl Sim {
    pub(super) fn wait_for_stream(&self, stream: RawStream) -> DriverResult<()> {
        let call = "cuStreamSynchronize";
        fault::refuse_inside(call)?;
        let mut machine = self.machine();
        machine.begin(call, self.number, None, 0)?;
        let state = machine.stream(call, stream)?;
        let (lane, wait) = (state.lane, Wait::Stream { handle: stream.0, target: state.enqueued });
        let clock = machine.order.record(lane);
        let (mut machine, at) = self.run_until(call, machine, wait)?;
        machine.host_waited(self.number, at, &clock);
        machine.take_failure(stream).map_or(Ok(()), Err)
    }

    /// Waits for every stream. A failure in a stream is reported by that stream's own synchronisation.
    pub(super) fn wait_for_all(&self) -> DriverResult<()> {
        let call = "cuCtxSynchronize";
        fault::refuse_inside(call)?;
        let mut machine = self.machine();
        machine.begin(call, self.number, None, 0)?;
        let own = machine.streams.iter_mut().filter(|(_, state)| state.device == self.number);
        let streams: Vec<_> = own.map(|(handle, state)| (handle, state.enqueued, state.lane)).collect();
        for (handle, target, lane) in streams {
            let clock = machine.order.record(lane);
            let (after, at) = self.run_until(call, machine, Wait::Stream { handle, target })?;
            machine = after;
            machine.host_waited(self.number, at, &clock);
        }
        Ok(())
    }

    /// Advances the host's time a little, and the device with it.
    pub(super) fn go_on(&self) {
        let call = "cuStreamQuery";
        if fault::refuse_inside(call).is_err() {
            return;
        }
        let mut machine = self.machine();
        let Part { host, model, .. } = &mut machine.parts[self.number];
        *host += model.host_call;
        // The device does not get beyond the host's time, since the host's next command would begin too late.
        let wait = Wait::Until { time: *host, carried: machine.carried_out() };
        // A lost device does not advance, and reports that to the next call.
        let _ = self.run_until(call, machine, wait);
    }

    pub(super) fn wait_for_record(&self, call: &'static str, record: &Arc<Record>) -> DriverResult<()> {
        fault::refuse_inside(call)?;
        let machine = self.machine();
        let (mut machine, at) = self.run_until(call, machine, Wait::Record(Arc::clone(record)))?;
        machine.host_waited(self.number, at, &record.clock);
        let failure = record.outcome.get().and_then(|outcome| outcome.failure.as_ref());
        failure.map_or(Ok(()), |failure| failure.pending())
    }

    /// Runs the simulation until everything that the caller waits for is complete, and returns when that was.
    fn run_until<'a>(
        &'a self,
        call: &'static str,
        mut machine: MutexGuard<'a, Machine>,
        wait: Wait,
    ) -> DriverResult<(MutexGuard<'a, Machine>, Nanos)> {
        if let Some(ticket) = machine.turns.ticket(thread::current().id()) {
            machine.turns.wait(ticket, wait.clone());
            machine = self.take_turn(call, machine, ticket)?;
            machine = self.unless_lost(machine)?;
            let at = machine.is_over(&wait).unwrap_or(machine.now);
            return Ok((machine, at));
        }
        let until = match &wait {
            Wait::Until { time, .. } => *time,
            Wait::Stream { .. } | Wait::Record(_) => Nanos::INFINITY,
        };
        loop {
            machine = self.unless_lost(machine)?;
            if let Some(at) = machine.is_over(&wait) {
                return Ok((machine, at));
            }
            machine = self.step(call, machine, until)?;
        }
    }

    /// Fails if the device is lost, once nothing of it is being carried out any more.
    fn unless_lost<'a>(&'a self, machine: MutexGuard<'a, Machine>) -> DriverResult<MutexGuard<'a, Machine>> {
        if !machine.is_lost(self.number) {
            return Ok(machine);
        }
        drop(machine);
        let machine = self.machine();
        machine.parts[self.number].faults.alive().map(|()| machine)
    }

    /// Waits for the turn of the calling thread, which has this ticket. If all threads wait, the simulation goes
    /// on.
    pub(super) fn take_turn<'a>(
        &'a self,
        call: &'static str,
        mut machine: MutexGuard<'a, Machine>,
        ticket: u64,
    ) -> DriverResult<MutexGuard<'a, Machine>> {
        loop {
            // Others may have gone on without this thread.
            machine.turns.wake(ticket);
            if machine.give_turn() {
                if machine.turns.is_running(ticket) {
                    return Ok(machine);
                }
                self.shared.changed.notify_all();
            }
            if machine.turns.is_any_busy() {
                let given = machine.turns.given();
                let timed_out;
                (machine, timed_out) = self.sleep(machine);
                if timed_out && machine.turns.given() == given && machine.executing.is_none() {
                    machine.turns.give_up_on_busy();
                }
                continue;
            }
            let until = machine.earliest_until();
            machine = match self.step(call, machine, until) {
                Ok(machine) => machine,
                Err(error) => {
                    self.machine().turns.come_back(ticket);
                    return Err(error);
                }
            };
        }
    }

    /// Sleeps until something changes. Returns whether nothing has for a long time.
    pub(super) fn sleep<'a>(
        &'a self,
        mut machine: MutexGuard<'a, Machine>,
    ) -> (MutexGuard<'a, Machine>, bool) {
        machine.waiting += 1;
        let slept = self.shared.changed.wait_timeout(machine, PATIENCE);
        let (mut machine, slept) = slept.unwrap_or_else(PoisonError::into_inner);
        machine.waiting -= 1;
        (machine, slept.timed_out())
    }

    /// Takes the simulation one step further, but not beyond `until` in the devices' time.
    ///
    /// Copies and host bodies are carried out without the lock, one at a time. Other threads that wait
    /// meanwhile sleep.
    fn step<'a>(
        &'a self,
        call: &'static str,
        mut machine: MutexGuard<'a, Machine>,
        until: Nanos,
    ) -> DriverResult<MutexGuard<'a, Machine>> {
        if machine.executing.is_some() {
            return Ok(self.sleep(machine).0);
        }
        // This is set at each step: another thread that ran while this one slept may have to go further,
        // or less far.
        machine.until = until;
        match machine.step() {
            Progress::Moved => {}
            Progress::Stuck if machine.awaits_ranks() => machine = self.wait_for_ranks(machine),
            // Waits are for earlier records only, so this does not happen.
            Progress::Stuck => return Err(fault::stuck(call)),
            Progress::Run(mut job) => {
                let (stream, device) = (job.stream, job.device);
                let with = std::mem::take(&mut job.with);
                if let Action::Copy { to, from, bytes } = &mut job.action {
                    (*to, *from) =
                        (machine.memory.destination(*to, *bytes), machine.memory.destination(*from, *bytes));
                }
                if let Some(before) = job.before.take() {
                    // A function knows that everything before it is over, and so does everyone that it
                    // tells.
                    let at = job.started;
                    machine.host_waited(device, at, &before);
                }
                let owns = matches!(job.action, Action::Host(_)) && job.tag.is_by_hand();
                machine.executing = Some(Executing { device, borrows: !owns, is_shared: !with.is_empty() });
                drop(machine);
                let result = self.execute(job);
                machine = self.shared.lock();
                machine.executing = None;
                for (device, stream) in with {
                    machine.finish(device, stream, result.clone());
                }
                machine.finish(device, stream, result);
                if machine.waiting > 0 {
                    self.shared.changed.notify_all();
                }
            }
        }
        if !machine.skipped.is_empty() {
            release(machine);
            machine = self.machine();
        }
        Ok(machine)
    }

    /// Nothing goes on but what ranks wait for each other in. If no thread can come any more, that is so for ever.
    fn wait_for_ranks<'a>(&'a self, mut machine: MutexGuard<'a, Machine>) -> MutexGuard<'a, Machine> {
        if machine.turns.all_wait() {
            machine.end_standstill();
            return machine;
        }
        // A thread that is at something else may come yet. The world's own limit ends the wait.
        self.sleep(machine).0
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
            // Ranks meet, and what they do together is a body.
            Action::Collective(_) => Ok(()),
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
