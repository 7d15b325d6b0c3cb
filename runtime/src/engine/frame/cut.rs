//! How a call's items are cut into chunks, and how many slots the ring has.

use crate::base::error::{Detail, Error, Result};
use crate::base::plan::{AccessPlan, Memory, OperationKind, OperationPlan};
use crate::engine::arguments::shape::{BufferPlace, BufferShape};
use crate::engine::arguments::{HostArgument, HostMemory};
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::costs::{self, AUTO_BYTES_IN_PLACE, AUTO_SLOT_BYTES, Costs};
use crate::engine::explain::explain;
use crate::engine::staging::ring::ALIGN;
use crate::engine::{ChunkSize, Pipeline};
use crate::observe::watch;

/// The largest staging slot for pageable data: data that the CPU copies should still be in its caches when
/// the device reaches them.
const STAGED_SLOT_BYTES: usize = 4 << 20;

/// The largest staging slot of a device on the host, where the CPU does everything: three slots and their
/// copies fit its caches.
const SLOT_BYTES_ON_HOST: usize = 2 << 20;

/// A run of at most so many bytes is one chunk, whatever the device is like.
const NOT_WORTH_ASKING: usize = 256 << 10;

impl Call<'_, '_> {
    /// Chooses the chunks of the run, and the number of slots if the runtime may choose it.
    pub(crate) fn choose(&mut self, declared: ChunkSize) -> Result<Chunking> {
        let Some(depth) = self.pipeline.auto_depth else { return self.chunking(declared) };
        self.set_depth(depth, declared)?;
        let chunking = self.chunking(declared)?;
        let Pipeline { device, plan, depth, .. } = &*self.pipeline;
        let staged = self.copied().filter(|(_, host)| is_pageable(host));
        let read: Vec<bool> = staged.map(|(index, _)| plan.hosts[index].reads).collect();
        // Otherwise nothing is copied while the device works: the device only advances while the host waits
        // for it.
        if !read.is_empty() && device.driver().polls() {
            let slot_bytes = chunking.largest().saturating_mul(self.largest_item()).max(self.largest_part());
            let most = costs::staged_depth(plan, *depth, slot_bytes, read.contains(&true));
            let fits = |slots: &usize| self.check_budget(chunking.largest(), *slots, true).is_ok();
            let slots = (*depth..=most.min(chunking.chunks())).rev().find(fits);
            self.widen(slots.unwrap_or(*depth))?;
        }
        Ok(chunking)
    }

    /// Bytes of the largest result of which each slot has a part.
    fn largest_part(&self) -> usize {
        let is_part = |buffer: &&BufferShape| matches!(buffer.place, BufferPlace::SharedPerSlot(_));
        let parts = self.arguments.buffers.iter().filter(is_part);
        parts.map(|buffer| buffer.bytes(0)).max().unwrap_or(0)
    }

    /// Whether fewer slots make more room than smaller chunks, and the runtime may choose their number.
    pub(super) fn narrows(&self, chunk: usize) -> bool {
        let Pipeline { depth, auto_depth, .. } = *self.pipeline;
        auto_depth.is_some() && depth > 1 && self.largest_part() > chunk.saturating_mul(self.bytes_in_ring())
    }

    /// Sets this depth, or a smaller one if the ring would exceed its budget.
    pub(super) fn set_depth(&mut self, depth: usize, declared: ChunkSize) -> Result<()> {
        self.pipeline.depth = depth;
        if self.pipeline.budget.is_some() {
            // The number of items is not known yet when the pipeline is built.
            let items = Some(self.extent()).filter(|&items| items > 0).unwrap_or(usize::MAX);
            while self.pipeline.depth > 1 {
                let chunk = self.chunk(declared)?.min(items);
                let slots = self.pipeline.depth.min(items.div_ceil(chunk));
                if self.check_budget(chunk, slots, true).is_ok() {
                    break;
                }
                // A run of one chunk needs one slot, even if it does not fit.
                self.pipeline.depth = (slots - 1).max(1);
            }
        }
        Ok(())
    }

    /// Sets this depth, and creates its streams and events.
    fn widen(&mut self, slots: usize) -> Result<()> {
        let Pipeline { device, plan, streams, depth, .. } = &mut *self.pipeline;
        streams.widen(device, plan, slots).map_err(|error| explain(plan, error))?;
        *depth = slots;
        Ok(())
    }

    /// Chooses the chunks of the run's items.
    pub(crate) fn chunking(&self, declared: ChunkSize) -> Result<Chunking> {
        let items = self.extent();
        let chunk = self.chunk(declared)?;
        if let Some((borders, buffer)) = &self.arguments.borders {
            return self.within_parts(borders, buffer, items, chunk, self.is_auto(declared));
        }
        if !self.is_auto(declared) {
            return Ok(Chunking::even(items, chunk.min(items.max(1))));
        }
        // Chunks are as large as if each device had its part of the items alone.
        let chunks = self.auto_chunking(items.div_ceil(self.devices), chunk);
        Ok(chunks.shared_by(self.devices, items))
    }

    /// Chunks of which none is in two devices' parts.
    fn within_parts(
        &self,
        borders: &[usize],
        buffer: &'static str,
        items: usize,
        chunk: usize,
        is_auto: bool,
    ) -> Result<Chunking> {
        let ends = borders.iter().skip(1).copied().chain([items]);
        let largest_part = borders.iter().zip(ends).map(|(start, end)| end - start).max().unwrap_or(items);
        // Each device has chunks as for a run of its part alone.
        let chunk = if is_auto { self.auto_chunking(largest_part, chunk).largest() } else { chunk };
        whole_in_parts(borders, items, chunk, is_auto).map(|whole| Chunking::even(items, whole)).map_err(
            |border| {
                let detail = match is_auto {
                    true => Detail::NoChunkOfParts { buffer, borders: borders.to_vec() },
                    false => {
                        let (chunk, common) = (chunk.min(items.max(1)), common(borders, items));
                        Detail::PartInChunk { buffer, border, chunk, common }
                    }
                };
                Error::new(detail).at(self.pipeline.place())
            },
        )
    }

    /// The chunks of so many items, of at most `chunk` each.
    fn auto_chunking(&self, items: usize, chunk: usize) -> Chunking {
        let chunk = chunk.min(items.max(1));
        let staged = self.copied().any(|(_, host)| is_pageable(host));
        let item = self.largest_item();
        let total = items.saturating_mul(item);
        if total <= NOT_WORTH_ASKING {
            return Chunking::even(items, chunk);
        }
        if self.pipeline.device.is_cpu() {
            return self.chunking_for_caches(items, chunk);
        }
        let Pipeline { device, plan, depth, .. } = &*self.pipeline;
        let costs = Costs::new(
            plan,
            watch::calibrated(device),
            self.bytes_in_ring().saturating_mul(*depth).div_ceil(item),
        );
        let most = match staged {
            false => costs.most,
            true if device.is_on_host() => SLOT_BYTES_ON_HOST,
            true => STAGED_SLOT_BYTES,
        };
        let chunk = chunk.min(costs.bytes(total).min(most) / item).max(1);
        // With elements for each chunk, the caller has to know the number of chunks; and a run with staging
        // has the CPU's copies at both ends, which small chunks delay.
        if self.is_endless() {
            Chunking::even(items, chunk)
        } else if self.arguments.any_per_chunk || staged {
            Chunking::equal(items, chunk)
        } else {
            Chunking::ramped(items, chunk)
        }
    }

    // Note 68: on a CPU, a chunk is as large as the caches let it be.
    /// The chunks of a run on a CPU, where nothing overlaps: at least as large as `chunk`, if operations do not pass
    /// on data in the caches.
    fn chunking_for_caches(&self, items: usize, chunk: usize) -> Chunking {
        let Pipeline { device, plan, .. } = &*self.pipeline;
        let buffers = &self.arguments.buffers;
        let by_item = buffers.iter().filter(|buffer| buffer.is_by_item());
        let item = by_item.fold(0, |sum: usize, buffer| sum.saturating_add(buffer.shape.bytes()));
        let has_items = |operation: &&OperationPlan| {
            let is_by_item = |access: &AccessPlan| match access.memory {
                Memory::Buffer(buffer) => buffers[buffer].is_by_item(),
                Memory::Host(_) => false,
            };
            let is_left_out = match operation.kind {
                OperationKind::Upload { host, buffer } | OperationKind::Download { host, buffer } => {
                    self.arguments.is_same(host, buffer) || is_within(buffers[buffer].place)
                }
                _ => false,
            };
            !is_left_out && operation.accesses.iter().any(is_by_item)
        };
        let is_on_host =
            |buffer: &BufferShape| matches!(buffer.place, BufferPlace::HostRing) && buffer.is_by_item();
        let is_in_ring = self.bytes_in_ring() > 0 || buffers.iter().any(is_on_host);
        let in_place = AUTO_BYTES_IN_PLACE.min(self.pipeline.slot_limit) / self.largest_item();
        let chunk = match plan.operations.iter().filter(has_items).count() {
            0 | 1 if is_in_ring => chunk,
            0 | 1 => chunk.max(in_place).min(items),
            _ => chunk.min(costs::cached(device) / item.max(1)).max(1),
        };
        if buffers.iter().any(|buffer| is_within(buffer.place)) {
            // The chunks at both ends are copied, and so had better be small.
            Chunking::small_at_ends(items, chunk)
        } else {
            Chunking::equal(items, chunk)
        }
    }

    /// The host arguments, with their numbers, that are no buffer themselves.
    fn copied(&self) -> impl Iterator<Item = (usize, &HostArgument<'_>)> {
        let buffers = &self.arguments.buffers;
        let is_buffer = |host: usize| buffers.iter().any(|buffer| buffer.host() == Some(host));
        self.arguments.hosts.iter().enumerate().filter(move |(host, _)| !is_buffer(*host))
    }

    pub(crate) fn is_auto(&self, declared: ChunkSize) -> bool {
        self.pipeline.chunk.is_none() && matches!(declared, ChunkSize::Auto)
    }

    /// Bytes of the largest item.
    pub(super) fn largest_item(&self) -> usize {
        let buffers = self.arguments.buffers.iter().filter(|buffer| !buffer.is_shared());
        let shapes =
            self.arguments.hosts.iter().map(|host| &host.shape).chain(buffers.map(|buffer| &buffer.shape));
        let by_item = shapes.filter(|shape| !shape.per_chunk);
        by_item.map(|shape| shape.bytes()).max().unwrap_or(1).max(1)
    }

    /// Bytes in the ring for an item of one chunk, in all buffers together.
    fn bytes_in_ring(&self) -> usize {
        let is_in_ring =
            |buffer: &&BufferShape| matches!(buffer.place, BufferPlace::Ring) || is_within(buffer.place);
        let ring = self.arguments.buffers.iter().filter(is_in_ring);
        let by_item = ring.filter(|buffer| !buffer.shape.per_chunk);
        by_item.fold(0, |sum: usize, buffer| sum.saturating_add(buffer.shape.bytes()))
    }

    /// Items in a chunk, before the number of items is looked at.
    pub(crate) fn chunk(&self, declared: ChunkSize) -> Result<usize> {
        let items = match (self.pipeline.chunk, declared) {
            (Some(items), _) | (None, ChunkSize::Items(items)) => items,
            (None, ChunkSize::Auto) => {
                let slot = AUTO_SLOT_BYTES.min(self.pipeline.slot_limit);
                (slot / self.largest_item()).min(self.items_in_budget()).max(1)
            }
        };
        if items == 0 { Err(Error::new(Detail::ChunkZero).at(self.pipeline.place())) } else { Ok(items) }
    }

    /// The greatest number of items in a chunk for which the ring stays within its budget.
    fn items_in_budget(&self) -> usize {
        let Some(budget) = self.pipeline.budget else { return usize::MAX };
        let depth = self.pipeline.depth;
        let (mut fixed, mut per_item) = (0_usize, 0_usize);
        for buffer in &self.arguments.buffers {
            let shape = buffer.shape;
            match buffer.place {
                BufferPlace::Shared(_) => fixed = fixed.saturating_add(buffer.bytes(0)).saturating_add(ALIGN),
                BufferPlace::SharedPerSlot(_) => {
                    let slot = buffer.bytes(0).saturating_add(ALIGN);
                    fixed = fixed.saturating_add(slot.saturating_mul(depth));
                }
                BufferPlace::Ring | BufferPlace::HostWithin(..) => {
                    // The bytes for a chunk without items; and each slot is rounded up by less than the
                    // alignment.
                    let slot = shape.items(0).saturating_mul(shape.bytes()).saturating_add(ALIGN);
                    fixed = fixed.saturating_add(slot.saturating_mul(depth));
                    per_item = per_item.saturating_add(if shape.per_chunk { 0 } else { shape.bytes() });
                }
                BufferPlace::HostRing
                | BufferPlace::InPlace(..)
                | BufferPlace::SharedInPlace(..)
                | BufferPlace::Host(..)
                | BufferPlace::SharedHost(..) => {}
            }
        }
        let left = budget.saturating_sub(fixed);
        left.checked_div(per_item.saturating_mul(depth)).unwrap_or(usize::MAX)
    }
}

/// Whether the buffer is an argument in all chunks but those at the ends.
fn is_within(place: BufferPlace) -> bool {
    matches!(place, BufferPlace::HostWithin(..))
}

/// Whether the CPU copies the data in addition to the device.
fn is_pageable(host: &HostArgument<'_>) -> bool {
    matches!(host.source.memory, HostMemory::Pageable(_) | HostMemory::Streamed)
}

/// The items of chunks of which each part but the last has whole ones: `chunk` of them, or fewer if the chunk is `auto`.
///
/// # Errors
/// The first item of a part that would begin within a chunk.
fn whole_in_parts(borders: &[usize], items: usize, chunk: usize, is_auto: bool) -> Result<usize, usize> {
    let chunk = chunk.min(items.max(1));
    let whole = if is_auto { divisor(common(borders, items), chunk) } else { chunk };
    // Many small chunks cost more than they give.
    let most = items.div_ceil(chunk).saturating_mul(4).saturating_add(2 * borders.len());
    let is_too_small = is_auto && items / whole > most;
    inner(borders, items).find(|border| border % whole != 0 || is_too_small).map_or(Ok(whole), Err)
}

/// The first items of parts within the run.
fn inner(borders: &[usize], items: usize) -> impl Iterator<Item = usize> {
    borders.iter().copied().filter(move |border| (1..items).contains(border))
}

/// The largest number of items of which each part but the last has a multiple; 0 if no part begins within the run.
fn common(borders: &[usize], items: usize) -> usize {
    inner(borders, items).fold(0, gcd)
}

fn gcd(one: usize, other: usize) -> usize {
    if other == 0 { one } else { gcd(other, one % other) }
}

/// The largest divisor of a number that is at most `most`, or 1 if it is not found soon; `most` itself if the number is 0.
fn divisor(number: usize, most: usize) -> usize {
    /// The most numbers to try.
    const TRIES: usize = 1 << 14;
    if number == 0 {
        return most.max(1);
    }
    // The least number of parts of that size.
    let least = number.div_ceil(most.max(1));
    let mut parts = (least..=number).take(TRIES);
    parts.find(|parts| number.is_multiple_of(*parts)).map_or(1, |parts| number / parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_in_parts_divide_all_borders() {
        let whole = |borders: &[usize], chunk| whole_in_parts(borders, 10_000, chunk, true);
        assert_eq!(whole(&[0, 4096, 8192], 4096), Ok(4096));
        assert_eq!(whole(&[0, 4096, 8192], 3000), Ok(2048));
        assert_eq!(whole(&[0, 3000, 3000, 9000], 2000), Ok(1500));
        assert_eq!(whole(&[0, 10_000], 700), Ok(700), "the second part has nothing");
        assert_eq!(whole(&[0, 0, 4099], 5000), Ok(4099));
        assert_eq!(whole(&[0, 4099], 4000), Err(4099), "it is a prime number");
        assert_eq!(whole(&[0, 510, 514], 300), Err(510));
        assert_eq!(whole(&[0, 2], 100), Err(2), "chunks of two items");
        let given = |borders: &[usize], chunk| whole_in_parts(borders, 10_000, chunk, false);
        assert_eq!(
            (given(&[0, 512], 256), given(&[0, 500], 256), given(&[0, 2], 1)),
            (Ok(256), Err(500), Ok(1))
        );
        assert_eq!(whole_in_parts(&[0, 0, 0], 0, 256, true), Ok(1));
        // Parts of fewer items than a usual chunk has.
        assert_eq!(whole_in_parts(&[0, 128], 256, 128, true), Ok(128));
        assert_eq!(whole_in_parts(&[0, 30], 64, 34, true), Ok(30));
        assert_eq!(whole_in_parts(&[0, 1], 2, 1, true), Ok(1));
        assert_eq!((divisor(usize::MAX - 1, 1000), divisor(1 << 40, 1 << 22)), (1, 1 << 22));
    }
}
