//! Staging slots: waiting for them, and copying in and out of them meanwhile.

use crate::driver::DriverResult;
use crate::engine::arguments::{HostArgument, HostMemory};
use crate::engine::feeds::awaited::Wait;
use crate::engine::run::Run;
use crate::engine::run::arrival::{For, Waited};
use crate::engine::run::resources::Resources;
use crate::engine::staging::Staging;

impl Run<'_> {
    /// Waits until the device is done with an operation's staging slot for this ring slot, and the slot's
    /// pending data are delivered.
    pub(crate) fn settle(&self, staging: &mut Staging, operation: usize, slot: usize) -> DriverResult<()> {
        let mut waited = Waited::default();
        let mut wait =
            self.chunks.streaming.map(|streaming| Wait::new(streaming.exchange, self.resources.plan));
        loop {
            let version = self.chunks.streaming.map(|streaming| streaming.exchange.version());
            if staging.note(operation, slot) {
                break;
            }
            let Some(pinned) = staging.slot(operation, slot).filter(|pinned| pinned.is_in_flight()) else {
                match (&self.chunks.streaming, version) {
                    (Some(streaming), Some(version)) => {
                        staging.help();
                        if let Some(wait) = &mut wait {
                            wait.goes_on(|_, end| end.operations.contains(&operation));
                        }
                        let what = (For::Threads, version);
                        self.wait_for_threads(staging, streaming.exchange, what, &mut waited)?;
                    }
                    _ => self.attend(staging)?,
                }
                continue;
            };
            let complete = self.target.settle(slot, pinned.done())?;
            if complete && !pinned.may_deliver() {
                // Another device has the chunk that a sink is to be given next.
                if let (Some(streaming), Some(version)) = (&self.chunks.streaming, version) {
                    let what = (For::OtherDevices, version);
                    self.wait_for_threads(staging, streaming.exchange, what, &mut waited)?;
                }
            } else if complete {
                // SAFETY: the mark was recorded after the device's last copy from or to the slot, and it has
                // completed; or the graph with the copy was launched for the ring slot, and everything
                // launched for that has. The drain waits for the copies however the run ends, and `reset`
                // drops the deliveries of runs before.
                unsafe { pinned.deliver() };
            } else {
                self.attend(staging)?;
            }
        }
        Ok(())
    }

    /// Delivers the data that have arrived from the device. Returns whether nothing more is to come.
    pub(crate) fn deliver_ready(&self, staging: &mut Staging) -> DriverResult<bool> {
        staging.deliver_due(|slot, done| self.target.is_done(slot, done))
    }

    /// The host has to wait: does the copying that is possible meanwhile.
    pub(crate) fn attend(&self, staging: &mut Staging) -> DriverResult<()> {
        self.stage_ahead(staging)?;
        staging.help_or_pause();
        Ok(())
    }

    /// Lets threads do all copying in and out that is possible.
    pub(crate) fn stage_ahead(&self, staging: &mut Staging) -> DriverResult<()> {
        if !self.target.polls() {
            return Ok(());
        }
        staging.deliver_due(|_, done| done.is_complete())?;
        self.read_meanwhile(staging)?;
        for (operation, host) in &self.read_ahead {
            let HostArgument { source, shape } = &self.arguments.hosts[*host];
            let HostMemory::Pageable(data) = &source.memory else { continue };
            while let Some((next, slot)) = staging.ahead(*operation)? {
                let Some(chunk) = self.chunks.ahead(next) else { break };
                let (start, bytes) = shape.range(chunk);
                if slot.bytes() < bytes {
                    break;
                }
                // SAFETY: the chunk's items are within the argument, which the run has borrowed and no
                // operation before this one in the chunk delivers to; the drain waits for the copy however
                // the run ends. The slot has room, and the device is done with it.
                unsafe { slot.fill(next, data.add(start), bytes) };
                staging.has_read(*operation, next + 1);
            }
        }
        Ok(())
    }

    /// Copies data from the device out as they arrive, after everything is enqueued. If nothing is left but what the
    /// last operation copies to memory, the drain waits for that: it learns of it sooner.
    pub(crate) fn deliver_all(&self) -> DriverResult<()> {
        if !self.target.polls() {
            return Ok(());
        }
        let mut staging = self.taken.staging.borrow_mut();
        let at_the_end = self.operation_at_the_end();
        loop {
            if at_the_end.is_some_and(|operation| staging.lacks_only(operation)) {
                // The drain does not help to copy what came before.
                staging.finish();
                return Ok(());
            }
            if staging.deliver_due(|_, done| done.is_complete())? {
                return Ok(());
            }
            staging.copy_or_pause();
        }
    }

    /// The last operation, if the device carries out everything in order. A chunk may leave it out: then what chunks before
    /// have copied arrives before the end of the run, and is copied later than it could be.
    fn operation_at_the_end(&self) -> Option<usize> {
        let Resources { plan, streams, depth, spread, .. } = self.resources;
        if streams.used(plan, depth, spread) == 1 { plan.operations.len().checked_sub(1) } else { None }
    }
}
