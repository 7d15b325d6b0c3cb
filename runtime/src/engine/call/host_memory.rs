//! Host arguments that are buffers, on a device that shares the host's memory.

use crate::driver::DevicePtr;
use crate::engine::arguments::lent::Lent;
use crate::engine::arguments::shape::{BufferPlace, Shape};
use crate::engine::arguments::shared::{Data, Shared};
use crate::engine::arguments::{Arguments, HostArgument, HostMemory};
use crate::engine::call::Call;

impl Call<'_, '_> {
    /// Leaves room for no buffer that can be an argument, which no run has given yet. If it is a source or a sink,
    /// its run makes room.
    pub(crate) fn expect_host_memory(&mut self) {
        if !self.pipeline.device.is_cpu() || self.has_ranks() {
            return;
        }
        for (index, buffer) in self.arguments.buffers.iter_mut().enumerate() {
            let host = self.pipeline.plan.argument_of(index);
            if let Some(host) = host.filter(|&host| !self.pipeline.plan.hosts[host].halo) {
                buffer.place = BufferPlace::Host(host, DevicePtr(0), 0);
            }
        }
    }

    /// Uses host memory where it lies, if the device can: each argument that the plan lets be a buffer, and data
    /// that the whole run reads. Carried data are copied, since a run that fails must not change them.
    pub(crate) fn use_host_memory(&mut self) {
        let (device, plan) = (&self.pipeline.device, self.pipeline.plan);
        // Ranks may use more of a buffer than this one has items.
        if !device.is_cpu() || self.has_ranks() {
            return;
        }
        let Arguments { hosts, buffers, shared, lent, .. } = &mut self.arguments;
        let mut lend = |memory: &HostMemory, bytes| {
            // SAFETY: the run has borrowed the argument, mutably if it is written: only then does `owns` let a
            // command write it. The arguments, and with them what is lent, are dropped after the run has drained.
            let (one, start) = unsafe { Lent::new(device, start(memory)?, bytes) }?;
            lent.push(one);
            Some(start)
        };
        for (index, buffer) in buffers.iter_mut().enumerate() {
            let Some(host) = plan.argument_of(index) else { continue };
            let HostArgument { source, shape } = &hosts[host];
            let bytes = source.len.saturating_mul(shape.element);
            if is_same(*shape, buffer.shape)
                && let Some(start) = lend(&source.memory, bytes)
            {
                let place = if shape.halo > 0 { BufferPlace::HostWithin } else { BufferPlace::Host };
                buffer.place = place(host, start, bytes);
            }
        }
        for Shared { buffer, data, bytes, init, .. } in shared {
            if let (Data::Host { source, carried: false }, None) = (data, init)
                && let Some(start) = lend(&source.memory, *bytes)
            {
                buffers[*buffer].place = BufferPlace::SharedHost(start, source.len);
            }
        }
    }
}

/// The address of the memory. A source or a sink has none that is whole.
fn start(memory: &HostMemory) -> Option<*mut u8> {
    match memory {
        HostMemory::Pageable(data) => Some(*data),
        HostMemory::Pinned(range) => Some(range.ptr()),
        HostMemory::Streamed => None,
    }
}

/// Whether each chunk has the same part of both.
fn is_same(host: Shape, buffer: Shape) -> bool {
    let parts = |shape: Shape| (shape.element, shape.per_item, shape.per_chunk, shape.halo);
    parts(host) == parts(buffer)
}
