//! Sources are asked to fill the slots of chunks ahead of the one that the device has next.

use crate::base::chunk::Chunk;
use crate::driver::DriverResult;
use crate::engine::feeds::exchange::{End, Exchange};
use crate::engine::feeds::streamed::Streaming;
use crate::engine::run::Run;
use crate::engine::staging::Staging;

impl Run<'_> {
    /// If the device has nothing more for anybody, asks callers to fill all slots, because one thread may
    /// serve all inputs. Returns whether there was a slot that they had not been asked to fill.
    pub(super) fn ask_ahead(
        &self,
        staging: &mut Staging,
        streaming: &Streaming<'_>,
        current: usize,
    ) -> DriverResult<bool> {
        let Streaming { exchange, whole, .. } = streaming;
        if !exchange.is_called() || staging.due() > 0 {
            return Ok(false);
        }
        let slots = staging.slots();
        for (number, end) in exchange.sources() {
            let chunk = whole.at(exchange.next(number));
            // The slot's previous contents were enqueued, and the device is done with them or about to be.
            if chunk.len > 0
                && self.is_within_slots(chunk.index, current, slots)
                && self.is_near(exchange, staging, chunk.index)
            {
                self.settle_and_ask(staging, streaming, (number, end), chunk)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Asks a source to fill the slots for a chunk, unless it was asked before, once the device is done with
    /// them.
    pub(super) fn settle_and_ask(
        &self,
        staging: &mut Staging,
        streaming: &Streaming<'_>,
        (number, end): (usize, &End),
        chunk: Chunk,
    ) -> DriverResult<()> {
        if streaming.exchange.next(number) != chunk.index {
            return Ok(());
        }
        // Otherwise the work done while the host waits for the device might ask for the same chunk.
        self.chunks.settles.set(true);
        let slot = self.slot_of(staging, chunk.index);
        let settled = end.operations.iter().try_for_each(|&operation| self.settle(staging, operation, slot));
        self.chunks.settles.set(false);
        settled?;
        self.ask(staging, streaming, (number, end), chunk)
    }

    /// The next step waits for the device, or for a sink: meanwhile lets sources fill the next chunk, which
    /// begins with the same wait. Not for a device that is polled, and not for graphs, whose copies are not
    /// tracked one by one.
    pub(crate) fn read_next(&self) -> DriverResult<()> {
        let Some(streaming) = &self.chunks.streaming else { return Ok(()) };
        if self.target.polls()
            || !self.target.marks_slots()
            || self.chunks.ended.get()
            || !self.order.is_kept()
        {
            return Ok(());
        }
        let current = self.chunks.current().chunk.index;
        let chunk = streaming.whole.at(current.saturating_add(self.chunks.devices()));
        let mut staging = self.taken.staging.borrow_mut();
        for (number, end) in streaming.exchange.sources() {
            // Otherwise a later operation of this chunk has yet to read the slot.
            let is_over = end.operations.iter().all(|&operation| operation < self.order.last());
            if chunk.len > 0 && is_over {
                self.settle_and_ask(&mut staging, streaming, (number, end), chunk)?;
            }
        }
        Ok(())
    }

    /// Lets sources read ahead: as far as there are slots, and at most the number of slots plus one ahead of
    /// the sinks.
    pub(super) fn read_on(&self, staging: &mut Staging, current: usize) -> DriverResult<()> {
        let Some(streaming) =
            self.chunks.streaming.as_ref().filter(|_| self.order.is_kept() && !self.chunks.ended.get())
        else {
            return Ok(());
        };
        let Streaming { exchange, whole, .. } = streaming;
        let slots = staging.slots();
        for (number, end) in exchange.sources() {
            loop {
                let next = exchange.next(number);
                let chunk = whole.at(next);
                let is_near =
                    self.is_near(exchange, staging, next) && self.is_within_slots(next, current, slots);
                if chunk.len == 0 || !is_near || !self.are_free(staging, end, next, current)? {
                    break;
                }
                self.ask(staging, streaming, (number, end), chunk)?;
            }
        }
        Ok(())
    }

    /// Whether a chunk is at most the number of slots of all devices, plus one, ahead of the sinks.
    fn is_near(&self, exchange: &Exchange, staging: &Staging, chunk: usize) -> bool {
        let accepted = exchange.accepted_by_all();
        let slots = staging.slots().saturating_mul(self.chunks.devices());
        accepted.is_none_or(|accepted| chunk <= accepted.saturating_add(slots + 1))
    }

    /// Whether a chunk is this device's, and one of the next that have slots, counted from the `current` one.
    fn is_within_slots(&self, chunk: usize, current: usize, slots: usize) -> bool {
        let Some(turn) = self.chunks.turn_of(chunk) else { return false };
        turn < (current / self.chunks.devices()).saturating_add(slots)
    }

    /// The staging slot of a chunk of this device.
    fn slot_of(&self, staging: &Staging, chunk: usize) -> usize {
        self.chunks.turn_of(chunk).unwrap_or(0) % staging.slots().max(1)
    }

    /// Whether a source may fill the slots for a chunk now.
    fn are_free(&self, staging: &mut Staging, end: &End, chunk: usize, current: usize) -> DriverResult<bool> {
        for &operation in &end.operations {
            // The slots' marks do not cover copies in a graph.
            let Some(turn) = self.chunks.turn_of(chunk) else { return Ok(false) };
            if staging.free_to_read(operation, turn, current, self.target.marks_slots())?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Asks a source to fill its slots for a chunk, which are free.
    fn ask(
        &self,
        staging: &mut Staging,
        streaming: &Streaming<'_>,
        (number, end): (usize, &End),
        chunk: Chunk,
    ) -> DriverResult<()> {
        let slot = self.slot_of(staging, chunk.index);
        let mut slots = Vec::with_capacity(end.operations.len());
        for &operation in &end.operations {
            let bytes = end.shape.items(chunk.len).saturating_mul(end.shape.bytes());
            match staging.slot(operation, slot).filter(|slot| slot.bytes() >= bytes) {
                Some(slot) => slots.push(slot.begin_to_read(chunk.index)),
                None => {
                    self.order.refuse();
                    return Ok(());
                }
            }
        }
        let Some((&first, more)) = slots.split_first() else { return Ok(()) };
        // SAFETY: each slot has room for the chunk, is initialised (`connect`) and aligned to 64 bytes. The
        // device is done with it, or has never begun; until the source has filled the chunk it is `Reading`,
        // and nothing is enqueued from it. Its memory outlives the source's thread, which ends before the run
        // does.
        unsafe { streaming.exchange.ask(number, chunk, first, more.to_vec()) };
        Ok(())
    }

    /// Lets sources read ahead while the host waits for something else.
    pub(crate) fn read_meanwhile(&self, staging: &mut Staging) -> DriverResult<()> {
        if self.chunks.streaming.is_none() || self.chunks.settles.get() {
            return Ok(());
        }
        self.read_on(staging, self.chunks.current().chunk.index)
    }
}
