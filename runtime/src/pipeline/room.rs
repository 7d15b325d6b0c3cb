//! How much room a call needs: the items in a chunk, and the ring.

use super::call::Call;
use super::ring::{ALIGN, Ring};
use super::shape::{BufferPlace, BufferShape};
use super::{AUTO_SLOT_BYTES, ChunkSize, Pipeline, place_of};
use crate::error::{Error, ErrorKind, Result};
use crate::plan::OperationKind;

impl Call<'_, '_> {
    /// Items in a chunk, before the number of items is looked at.
    pub(super) fn chunk(&self, declared: ChunkSize) -> Result<usize> {
        let items = match (self.pipeline.chunk, declared) {
            (Some(items), _) | (None, ChunkSize::Items(items)) => items,
            (None, ChunkSize::Auto) => {
                let buffers = self.buffers.iter().filter(|buffer| !buffer.is_shared());
                let shapes = self.host_shapes.iter().chain(buffers.map(|buffer| &buffer.shape));
                let by_item = shapes.filter(|shape| !shape.per_chunk);
                let largest = by_item.map(|shape| shape.bytes()).max().unwrap_or(1).max(1);
                (AUTO_SLOT_BYTES / largest).min(self.items_in_budget()).max(1)
            }
        };
        if items == 0 { Err(Error::new(ErrorKind::ChunkZero).at(self.pipeline.place())) } else { Ok(items) }
    }

    /// The items that a chunk may have for the ring to stay within its budget.
    fn items_in_budget(&self) -> usize {
        let Some(budget) = self.pipeline.budget else { return usize::MAX };
        let depth = self.pipeline.depth;
        let (mut fixed, mut per_item) = (0_usize, 0_usize);
        for buffer in &self.buffers {
            let shape = buffer.shape;
            match buffer.place {
                BufferPlace::Shared(_) => fixed = fixed.saturating_add(buffer.bytes(0)).saturating_add(ALIGN),
                BufferPlace::Ring => {
                    // What a chunk of no items needs; and each slot is rounded up by less than the alignment.
                    let slot = shape.items(0).saturating_mul(shape.bytes()).saturating_add(ALIGN);
                    fixed = fixed.saturating_add(slot.saturating_mul(depth));
                    per_item = per_item.saturating_add(if shape.per_chunk { 0 } else { shape.bytes() });
                }
                BufferPlace::HostRing | BufferPlace::InPlace(..) | BufferPlace::SharedInPlace(..) => {}
            }
        }
        let left = budget.saturating_sub(fixed);
        left.checked_div(per_item.saturating_mul(depth)).unwrap_or(usize::MAX)
    }

    /// Allocates the ring for whole chunks.
    pub(super) fn reserve(self, chunk: ChunkSize) -> Result<()> {
        self.check_copies()?;
        let chunk = self.chunk(chunk)?;
        let depth = self.pipeline.depth;
        let addressable = |buffer: &BufferShape| {
            let bytes = buffer.shape.items(chunk).checked_mul(buffer.shape.bytes());
            bytes.and_then(|bytes| bytes.checked_mul(depth)).is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        // `chunk = usize::MAX` means all in one: how many that is, a run knows.
        if !self.buffers.iter().all(addressable) {
            return Ok(());
        }
        self.reserve_ring(chunk, depth, false).map(drop)
    }

    /// `shared`: also what is the whole run's.
    pub(super) fn reserve_ring(self, chunk: usize, slots: usize, shared: bool) -> Result<Self> {
        let size = |buffer: &BufferShape| match buffer.place {
            // A run of nothing needs no slots.
            BufferPlace::Ring | BufferPlace::HostRing => (slots > 0).then(|| (buffer.bytes(chunk), slots)),
            BufferPlace::Shared(_) => shared.then_some((buffer.bytes(chunk), 1)),
            BufferPlace::InPlace(..) | BufferPlace::SharedInPlace(..) => None,
        };
        let sizes: Vec<_> = self.buffers.iter().map(size).collect();
        let on_device =
            self.buffers.iter().zip(&sizes).filter(|(b, _)| !matches!(b.place, BufferPlace::HostRing));
        let needed = Ring::total(on_device.map(|(_, size)| size));
        if let Some(budget) = self.pipeline.budget.filter(|&budget| needed > budget) {
            let kind = ErrorKind::Budget { needed, budget, slots, chunk };
            return Err(Error::new(kind).at(self.pipeline.place()));
        }
        let Pipeline { device, plan, ring, .. } = &mut *self.pipeline;
        let reserved = ring.reserve(device, plan.buffers, &sizes);
        reserved.map_err(|error| error.at(self.pipeline.place()))?;
        Ok(self)
    }

    /// Both sides of a copy have items of the same size.
    pub(super) fn check_copies(&self) -> Result<()> {
        let plan = self.pipeline.plan;
        let host = |index: usize| (plan.hosts[index].name, self.host_shapes[index].per_item);
        let buffer = |index: usize| (plan.buffers[index].name, self.buffers[index].shape.per_item);
        for (index, operation) in plan.operations.iter().enumerate() {
            let ((from, from_per_item), (to, to_per_item)) = match operation.kind {
                OperationKind::Upload { host: from, buffer: to } => (host(from), buffer(to)),
                OperationKind::Download { host: to, buffer: from } => (buffer(from), host(to)),
                OperationKind::CopyOnDevice { from, to }
                | OperationKind::CopyToScratch { from, to }
                | OperationKind::CopyFromScratch { from, to } => (buffer(from), buffer(to)),
                OperationKind::Fill { .. }
                | OperationKind::Launch { .. }
                | OperationKind::Call { .. }
                | OperationKind::Host { .. }
                | OperationKind::Then => continue,
            };
            if from_per_item != to_per_item {
                let kind = ErrorKind::CopyShape { from, from_per_item, to, to_per_item };
                return Err(Error::new(kind).at(place_of(plan, index, None)));
            }
        }
        Ok(())
    }
}
