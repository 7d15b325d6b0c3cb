//! Host arguments that are buffers, on a device that shares the host's memory.

use crate::driver::DevicePtr;
use crate::engine::arguments::shape::{BufferPlace, Shape};
use crate::engine::arguments::{HostArgument, HostMemory};
use crate::engine::call::Call;

impl Call<'_, '_> {
    /// Uses each host argument where it lies that the plan lets be a buffer, if the device can.
    pub(crate) fn use_host_memory(&mut self) {
        if !self.pipeline.device.driver().shares_host_memory() {
            return;
        }
        let plan = self.pipeline.plan;
        for buffer in 0..self.arguments.buffers.len() {
            let Some(host) = plan.argument_of(buffer) else { continue };
            let HostArgument { source, shape } = &self.arguments.hosts[host];
            let start = match &source.memory {
                HostMemory::Pageable(data) => data.expose_provenance() as u64,
                HostMemory::Pinned(range) => range.ptr().expose_provenance() as u64,
                // It has no memory as a whole.
                HostMemory::Streamed => continue,
            };
            let bytes = source.len.saturating_mul(shape.element);
            let of = &mut self.arguments.buffers[buffer];
            if is_same(*shape, of.shape) {
                of.place = BufferPlace::Host(host, DevicePtr(start), bytes);
            }
        }
    }
}

/// Whether each chunk has the same part of both.
fn is_same(host: Shape, buffer: Shape) -> bool {
    (host.element, host.per_item, host.per_chunk) == (buffer.element, buffer.per_item, buffer.per_chunk)
        && (host.halo, buffer.halo) == (0, 0)
}
