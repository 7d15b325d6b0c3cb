//! [`Written`]: the arguments that a run has written anew, so that earlier failures in them no longer count.

use crate::base::plan::{self, Plan};
use crate::engine::arguments::shape::Shape;
use crate::engine::arguments::shared::Shared;
use crate::engine::arguments::{Arguments, HostArgument, HostMemory};

/// A run without failures.
pub(crate) struct Written {
    pub(crate) plan: &'static Plan,
    pub(crate) chunks: usize,
}

impl Written {
    /// Notes it in each such argument.
    pub(crate) fn note(&self, arguments: &Arguments<'_>) {
        let Arguments { hosts, buffers, in_place, shared, .. } = arguments;
        for (index, HostArgument { source, shape }) in hosts.iter().enumerate() {
            if let HostMemory::Pinned(range) = &source.memory
                && self.writes(plan::Memory::Host(index))
            {
                range.is_written_anew(self.bytes(*shape));
            }
        }
        let used = buffers.iter().enumerate().filter(|(_, buffer)| buffer.is_in_place());
        for ((index, buffer), data) in used.zip(in_place) {
            let is_filled = shared.iter().any(|shared| shared.buffer == index && shared.init.is_some());
            if is_filled || self.writes(plan::Memory::Buffer(index)) {
                data.is_written_anew(self.bytes(buffer.shape));
            }
        }
        // Carried data are given back whole.
        let given_back = shared.iter().filter_map(Shared::source).filter(|source| source.writable);
        for source in given_back {
            if let HostMemory::Pinned(range) = &source.memory {
                range.is_written_anew(usize::MAX);
            }
        }
    }

    /// Whether every chunk writes it.
    fn writes(&self, memory: plan::Memory) -> bool {
        let every_chunk =
            |operation: &&plan::OperationPlan| !operation.conditional && operation.repeat.is_none();
        let accesses =
            self.plan.operations.iter().filter(every_chunk).flat_map(|operation| operation.accesses);
        accesses.into_iter().any(|access| access.writes && access.memory == memory)
    }

    /// The bytes of an argument that belong to the run's chunks. An argument with elements for each chunk may
    /// have more.
    fn bytes(&self, shape: Shape) -> usize {
        if shape.per_chunk { self.chunks.saturating_mul(shape.bytes()) } else { usize::MAX }
    }
}
