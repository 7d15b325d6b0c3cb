//! Predictions of the copies of data that the whole run shares.

use super::Model;
use crate::device::memory::Direction;
use crate::engine::arguments::HostMemory;
use crate::engine::arguments::shared::{Data, Shared};
use crate::engine::totals::Totals;

impl Shared<'_> {
    /// Predicts copying or filling it at the beginning, or copying it back if it is carried.
    pub(crate) fn work_out(&self, model: &mut Model, totals: &mut Totals, direction: Direction) {
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
