//! Host arguments that are buffers, on a device that shares the host's memory.

use crate::driver::DevicePtr;
use crate::engine::arguments::shape::{BufferPlace, Shape};
use crate::engine::arguments::shared::{Data, Shared};
use crate::engine::arguments::{Arguments, HostArgument, HostMemory};
use crate::engine::call::Call;

impl Call<'_, '_> {
    /// Uses host memory where it lies, if the device can: each argument that the plan lets be a buffer, and data
    /// that the whole run reads. Carried data are copied, since a run that fails must not change them.
    pub(crate) fn use_host_memory(&mut self) {
        if !self.pipeline.device.driver().shares_host_memory() {
            return;
        }
        let plan = self.pipeline.plan;
        let Arguments { hosts, buffers, shared, .. } = &mut self.arguments;
        for (index, buffer) in buffers.iter_mut().enumerate() {
            let Some(host) = plan.argument_of(index) else { continue };
            let HostArgument { source, shape } = &hosts[host];
            let Some(start) = start(&source.memory).filter(|_| is_same(*shape, buffer.shape)) else {
                continue;
            };
            buffer.place = BufferPlace::Host(host, start, source.len.saturating_mul(shape.element));
        }
        for Shared { buffer, data, init, .. } in shared {
            let (Data::Host { source, carried: false }, None) = (data, init) else { continue };
            let Some(start) = start(&source.memory) else { continue };
            buffers[*buffer].place = BufferPlace::SharedHost(start, source.len);
        }
    }
}

/// The address of the memory. A source or a sink has none that is whole.
fn start(memory: &HostMemory) -> Option<DevicePtr> {
    let start = match memory {
        HostMemory::Pageable(data) => *data,
        HostMemory::Pinned(range) => range.ptr(),
        HostMemory::Streamed => return None,
    };
    Some(DevicePtr(start.expose_provenance() as u64))
}

/// Whether each chunk has the same part of both.
fn is_same(host: Shape, buffer: Shape) -> bool {
    (host.element, host.per_item, host.per_chunk) == (buffer.element, buffer.per_item, buffer.per_chunk)
        && (host.halo, buffer.halo) == (0, 0)
}
