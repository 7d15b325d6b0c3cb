//! Predictions of the copies of data that the whole run shares.

use super::Model;
use crate::device::memory::Direction;
use crate::engine::arguments::shape::BufferPlace;
use crate::engine::arguments::shared::{Data, Shared};
use crate::engine::arguments::{Arguments, HostMemory};
use crate::engine::totals::Totals;

impl Arguments<'_> {
    /// Predicts copying or filling the data at the beginning of a run with so many slots, or copying them back.
    pub(crate) fn work_out_shared(
        &self,
        slots: usize,
        model: &mut Model,
        totals: &mut Totals,
        direction: Direction,
    ) {
        for shared in &self.shared {
            let parts = match self.buffers[shared.buffer].place {
                BufferPlace::SharedPerSlot(_) => slots.max(1),
                _ => 1,
            };
            (0..parts).for_each(|_| shared.work_out(model, totals, direction));
        }
    }
}

impl Shared<'_> {
    /// Predicts copying or filling it at the beginning, or copying it back if it is carried.
    fn work_out(&self, model: &mut Model, totals: &mut Totals, direction: Direction) {
        let is_in = direction == Direction::In;
        if is_in && self.moved.is_some() {
            return;
        }
        if is_in && self.init.is_some() {
            return model.fill(self.bytes as u64);
        }
        let (carried, staged) = match &self.data {
            Data::Host { source, carried } => (*carried, !matches!(source.memory, HostMemory::Pinned(_))),
            Data::Partial(_) => (true, true),
            Data::Device(_) => return,
        };
        if !is_in && !carried {
            return;
        }
        let bytes = self.bytes as u64;
        *(if is_in { &mut totals.to_device } else { &mut totals.to_host }) += bytes;
        totals.staged += if staged { bytes } else { 0 };
        model.share(bytes, is_in, staged);
    }
}
