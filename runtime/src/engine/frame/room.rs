//! The room that a call needs: the ring, and the staging slots.

use crate::base::error::{Detail, Error, Result};
use crate::base::plan::{OperationKind, OperationPlan};
use crate::engine::arguments::shape::{BufferPlace, BufferShape};
use crate::engine::arguments::{Arguments, HostArgument, HostMemory};
use crate::engine::call::Call;
use crate::engine::chunks::chunking::Chunking;
use crate::engine::place::place_of;
use crate::engine::staging::Staging;
use crate::engine::staging::ring::Ring;
use crate::engine::{ChunkSize, Pipeline};

impl Call<'_, '_> {
    /// Allocates the ring for whole chunks, if their size is known.
    pub(crate) fn reserve(mut self, declared: ChunkSize) -> Result<()> {
        self.check_copies()?;
        self.expect_host_memory();
        if let Some(depth) = self.pipeline.auto_depth {
            self.set_depth(depth, declared)?;
        }
        let chunk = self.chunk(declared)?;
        let depth = self.pipeline.depth;
        if self.is_auto(declared) {
            // Checks the largest chunk of any run. The actual one depends on the run's length.
            return self.check_budget(chunk, depth, false);
        }
        let addressable = |buffer: &BufferShape| {
            let bytes = buffer.shape.items(chunk).checked_mul(buffer.shape.bytes());
            bytes.and_then(|bytes| bytes.checked_mul(depth)).is_some_and(|bytes| bytes <= isize::MAX as usize)
        };
        // `chunk = usize::MAX` means one chunk for all items, whose number only a run knows.
        if !self.arguments.buffers.iter().all(addressable) {
            return Ok(());
        }
        self.reserve_ring(chunk, depth, false)
    }

    /// Prepares the run's memory. If there is no room, uses smaller chunks or fewer slots, where they are `auto`. Returns
    /// whether anything is staged.
    pub(crate) fn make_room(&mut self, declared: ChunkSize, chunking: &mut Chunking) -> Result<bool> {
        self.check_copies()?;
        // An endless run finds out its number of chunks.
        if !self.is_endless() {
            self.check_per_chunk(chunking.own_chunks())?;
        }
        let (before, mut is_empty) = (self.pipeline.slot_limit, false);
        loop {
            let error = match self.reserve_run(*chunking) {
                Ok(stages) => return Ok(stages),
                Err(error) => error,
            };
            let is_full =
                matches!(error.detail(), Detail::OutOfDeviceMemory { .. } | Detail::OutOfPinnedMemory { .. });
            // Larger memory than this run needs may have been kept, so that is released first.
            let narrows = self.narrows(chunking.largest());
            // Ranks have agreed on the chunk.
            let shrinks = self.is_auto(declared) && !self.has_ranks();
            let next = match is_full && (narrows || shrinks) {
                true if !is_empty => Some(*chunking),
                true if narrows => {
                    self.pipeline.depth -= 1;
                    Some(*chunking)
                }
                true if shrinks => self.smaller(declared, *chunking),
                true => None,
                false => None,
            };
            match next {
                Some(next) => *chunking = next,
                None => {
                    // The next run may find more room.
                    self.pipeline.slot_limit = before;
                    return Err(error);
                }
            }
            self.pipeline.ring = Ring::default();
            self.pipeline.staging = Staging::default();
            is_empty = true;
        }
    }

    /// Chunks of half the size, if the run may have them.
    fn smaller(&mut self, declared: ChunkSize, chunking: Chunking) -> Option<Chunking> {
        if chunking.largest() <= 1 {
            return None;
        }
        self.pipeline.slot_limit = (chunking.largest() / 2).saturating_mul(self.largest_item());
        let smaller = self.chunking(declared).ok()?;
        if !self.is_endless() {
            self.check_per_chunk(smaller.chunks()).ok()?;
        }
        Some(smaller)
    }

    /// Allocates the ring, and the staging memory if there is anything to stage.
    fn reserve_run(&mut self, chunking: Chunking) -> Result<bool> {
        let chunk = chunking.largest();
        let slots = self.pipeline.depth.min(chunking.chunks());
        // In a run without chunks, carried data stay as they are, or become what they start from.
        self.reserve_ring(chunk, slots, true)?;
        let Call { pipeline, arguments, .. } = &mut *self;
        let operations = pipeline.plan.operations;
        pipeline.staging.reset();
        let slot_bytes = |operation| staged_bytes(operation, arguments, chunk);
        let stages =
            !arguments.hosts.is_empty() && operations.iter().any(|operation| slot_bytes(operation).is_some());
        if stages {
            let sizes: Vec<_> = operations.iter().map(slot_bytes).collect();
            let name = |operation: usize| operations[operation].text;
            let reserved = pipeline.staging.reserve(&pipeline.device, &sizes, slots, name);
            reserved.map_err(|error| error.at(pipeline.place()))?;
        }
        Ok(stages)
    }

    /// `shared`: includes the data that the whole run shares.
    pub(crate) fn reserve_ring(&mut self, chunk: usize, slots: usize, shared: bool) -> Result<()> {
        self.check_budget(chunk, slots, shared)?;
        let size = |buffer: &BufferShape| room(buffer, chunk, slots, shared);
        let Pipeline { device, plan, ring, graphs, .. } = &mut *self.pipeline;
        // Memory that the kernels of the run before use may be freed now, whether a run follows or not.
        graphs.iter_mut().for_each(|graphs| graphs.done = None);
        let reserved = ring.reserve(device, plan.buffers, self.arguments.buffers.iter().map(size));
        reserved.map_err(|error| error.at(self.pipeline.place()))
    }

    /// Checks that the ring stays within its budget.
    pub(super) fn check_budget(&self, chunk: usize, slots: usize, shared: bool) -> Result<()> {
        let Some(budget) = self.pipeline.budget else { return Ok(()) };
        let on_device = self.arguments.buffers.iter().filter(|b| !matches!(b.place, BufferPlace::HostRing));
        let needs = |slots| Ring::total(on_device.clone().filter_map(|b| room(b, chunk, slots, shared)));
        let needed = needs(slots);
        if needed <= budget {
            return Ok(());
        }
        let once = on_device.clone().filter(|b| !matches!(b.place, BufferPlace::SharedPerSlot(_)));
        let once = Ring::total(once.filter_map(|b| room(b, chunk, 0, shared)));
        let kind = Detail::Budget { needed, shared: once, budget, slots, chunk };
        Err(Error::new(kind).at(self.pipeline.place()))
    }

    /// Checks that both sides of each copy have items of the same size.
    pub(crate) fn check_copies(&self) -> Result<()> {
        let plan = self.pipeline.plan;
        let host = |index: usize| (plan.hosts[index].name, self.arguments.hosts[index].shape.per_item);
        let buffer = |index: usize| (plan.buffers[index].name, self.arguments.buffers[index].shape.per_item);
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
                | OperationKind::Collective { .. }
                | OperationKind::Then => continue,
            };
            if from_per_item != to_per_item {
                let kind = Detail::CopyShape { from, from_per_item, to, to_per_item };
                return Err(Error::new(kind).at(place_of(plan, index, None)));
            }
        }
        Ok(())
    }
}

/// The bytes of a buffer's slots and their number, if it has any. `shared`: includes the data that the whole
/// run shares.
fn room(buffer: &BufferShape, chunk: usize, slots: usize, shared: bool) -> Option<(usize, usize)> {
    match buffer.place {
        // A run without chunks needs no slots.
        BufferPlace::Ring | BufferPlace::HostRing | BufferPlace::HostWithin(..) => {
            (slots > 0).then(|| (buffer.bytes(chunk), slots))
        }
        BufferPlace::Shared(_) => shared.then(|| (buffer.bytes(chunk), 1)),
        BufferPlace::SharedPerSlot(_) => shared.then(|| (buffer.bytes(chunk), slots.max(1))),
        BufferPlace::InPlace(..)
        | BufferPlace::SharedInPlace(..)
        | BufferPlace::Host(..)
        | BufferPlace::SharedHost(..) => None,
    }
}

/// The bytes of an operation's staging slot, if the CPU takes part in its copy.
fn staged_bytes(operation: &OperationPlan, arguments: &Arguments<'_>, chunk: usize) -> Option<usize> {
    match operation.kind {
        OperationKind::Upload { host, buffer } | OperationKind::Download { host, buffer } => {
            if arguments.is_same(host, buffer) {
                return None;
            }
            let HostArgument { source, shape } = arguments.hosts.get(host)?;
            match source.memory {
                HostMemory::Pageable(_) | HostMemory::Streamed => {
                    Some(shape.items(chunk).saturating_mul(shape.bytes()))
                }
                // The CPU makes up the items beyond the ends.
                HostMemory::Pinned(_) => (shape.halo > 0).then(|| 2 * shape.halo * shape.bytes()),
            }
        }
        _ => None,
    }
}
