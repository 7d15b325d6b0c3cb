//! The chunks of one device of several.

use crate::base::chunk::Chunk;
use crate::base::error::Result;
use crate::driver::DriverResult;
use crate::engine::chunks::dealer::Hand;
use crate::engine::explain::explain;
use crate::engine::run::Run;
use crate::engine::run::arrival::cancelled;

impl Run<'_> {
    /// The next chunk of this device, as soon as it has a slot for it; `None` after its last one. The chunks
    /// of the turns before were enqueued.
    pub(super) fn next_dealt(&self, hand: &Hand<'_>, turn: usize) -> Option<Chunk> {
        self.note_enqueued(hand);
        if !self.order.is_kept() {
            return None;
        }
        if let Err(error) = self.wait_for_room(hand, turn) {
            self.order.refuse_with(error);
            return None;
        }
        let next = self.chunks.of_turn(turn);
        if hand.has_stopped() {
            // What has failed elsewhere is that device's error.
            self.order.stop();
            return None;
        }
        if self.chunks.cancels.any()
            && let Some(chunk) = next
        {
            self.order.refuse_with(cancelled(self.resources.plan, Some(chunk.index as u64)));
            return None;
        }
        next
    }

    /// Notes that the chunk before is enqueued, if all of its operations are.
    pub(super) fn note_enqueued(&self, hand: &Hand<'_>) {
        if self.order.is_whole(hand.turn(false)) {
            hand.is_enqueued();
        }
    }

    /// Waits until the device is done with the chunk that had this turn's slot, if that decides who gets the next
    /// chunk.
    fn wait_for_room(&self, hand: &Hand<'_>, turn: usize) -> Result<()> {
        if !hand.is_free() || !self.target.is_carried_out() {
            return Ok(());
        }
        let depth = self.resources.depth;
        if let Some(before) = turn.checked_sub(1) {
            self.launch()?;
            self.mark_end(before % depth).map_err(|error| explain(self.resources.plan, error))?;
        }
        if turn < depth || hand.chunk(turn).is_some() {
            return Ok(());
        }
        self.wait_for_end(turn % depth).map_err(|error| explain(self.resources.plan, error))
    }

    /// Marks the end of the chunk in a slot, all of which was enqueued.
    fn mark_end(&self, slot: usize) -> DriverResult<()> {
        let streams = self.resources.streams;
        for (stream, end) in self.resources.pace.of(slot) {
            let own = self.resources.plan.streams[stream].is_per_slot(self.resources.spread);
            let stream = &streams.all()[streams.number(stream, if own { slot } else { 0 })];
            self.target.mark_end(end, stream)?;
        }
        Ok(())
    }

    /// Waits for the end of the chunk in a slot. Meanwhile data are copied in and out.
    fn wait_for_end(&self, slot: usize) -> DriverResult<()> {
        for (_, end) in self.resources.pace.of(slot) {
            if !self.target.polls() {
                self.target.wait_for(slot, end)?;
                continue;
            }
            while !self.target.is_done(slot, end)? {
                self.attend(&mut self.taken.staging.borrow_mut())?;
            }
        }
        Ok(())
    }
}
