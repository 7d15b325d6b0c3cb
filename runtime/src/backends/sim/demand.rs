//! [`Demand`]: the demand of some work on an engine.

use std::time::Duration;

use super::model::{Model, Nanos};
use crate::base::engine;
use crate::base::model::SMALL_COPY;

/// The parts of the simulation that carry work out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    CopyToDevice,
    CopyToHost,
    Compute,
    /// Copies between the memories of two devices.
    Peer,
    /// The links to the devices of other ranks.
    Network,
    /// The thread that host functions run on.
    Host,
    /// The threads that copy between pageable and page-locked memory, in a forecast.
    Staging,
}

/// The demand of some work on an engine, whichever memory it uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    pub(super) engine: Engine,
    pub(super) latency: Nanos,
    /// Bytes that go through the engine after the latency.
    pub(super) bytes: f64,
    /// The largest share of the engine that the work can use: a kernel of few blocks leaves multiprocessors
    /// idle.
    pub(super) share: f64,
    /// Whether it is a kernel, if it is a copy. Those of copy engines delay each other.
    pub(super) by_kernel: bool,
}

impl Demand {
    fn new(engine: Engine, latency: Nanos, bytes: f64) -> Self {
        Self { engine, latency, bytes, share: 1.0, by_kernel: false }
    }

    /// The demand of a copy of `bytes` bytes that an engine carries out.
    pub(super) fn copy(model: &Model, engine: engine::Engine, bytes: f64) -> Self {
        let (engine, traffic) = match engine {
            engine::Engine::ToDevice => (Engine::CopyToDevice, bytes),
            engine::Engine::ToHost => (Engine::CopyToHost, bytes),
            // A copy on the device reads and writes device memory.
            engine::Engine::Compute | engine::Engine::Host | engine::Engine::Network => {
                (Engine::Compute, 2.0 * bytes)
            }
        };
        Self::new(engine, model.copy_latency, traffic)
    }

    /// The demand of the same work in a graph, where a kernel carries out small copies.
    pub(super) fn in_graph(self, model: &Model) -> Self {
        match self.engine {
            Engine::CopyToDevice | Engine::CopyToHost if self.bytes <= SMALL_COPY as f64 => {
                Self { latency: model.small_copy_latency, by_kernel: true, ..self }
            }
            _ => self,
        }
    }

    /// The demand of a copy of `bytes` bytes between the memories of two devices.
    pub(super) fn peers(model: &Model, bytes: f64) -> Self {
        Self::new(Engine::Peer, model.copy_latency, bytes)
    }

    /// The demand of a kernel or a fill that accesses `bytes` bytes of device memory. `blocks` is the number
    /// of a launch's blocks.
    pub(super) fn kernel(model: &Model, bytes: f64, blocks: Option<u64>) -> Self {
        Self { share: model.share(blocks), ..Self::new(Engine::Compute, model.launch_latency, bytes) }
    }

    /// The demand of a function on the CPU that accesses `bytes` bytes.
    pub(super) fn host(model: &Model, bytes: f64) -> Self {
        Self::new(Engine::Host, model.host_latency, bytes)
    }

    /// The demand of a signal to the host.
    pub(super) fn signal(model: &Model) -> Self {
        Self::new(Engine::Host, model.signal_latency, 0.0)
    }

    /// The demand of a collective of ranks that meet in the machine, whose links determine its time.
    pub(super) fn meeting() -> Self {
        Self::new(Engine::Network, 0.0, 0.0)
    }

    /// The demand of a collective that takes this time alone.
    pub(super) fn collective(time: Nanos) -> Self {
        Self::new(Engine::Network, time, 0.0)
    }

    /// The demand of a copy of `bytes` bytes between pageable and page-locked memory.
    pub(super) fn staging(bytes: f64) -> Self {
        Self::new(Engine::Staging, 0.0, bytes)
    }

    /// The demand of a kernel that also reads and writes these numbers of bytes of the host's memory.
    pub(super) fn over_the_link(self, model: &Model, [reads, writes]: [f64; 2]) -> Self {
        let link = model.both_ways(reads, writes) * model.memory_rate;
        Self { bytes: self.bytes.max(link), ..self }
    }

    /// The demand of a kernel or a function that is known to take this time alone: the bytes that the engine
    /// moves in that time.
    pub(super) fn taking(self, model: &Model, time: Duration) -> Self {
        let rate = match self.engine {
            Engine::Compute => model.memory_rate * self.share,
            Engine::CopyToDevice | Engine::Peer | Engine::Network => model.to_device,
            Engine::CopyToHost => model.to_host,
            Engine::Host | Engine::Staging => model.host_memcpy,
        };
        let bytes = (time.as_secs_f64() * 1e9 - self.latency).max(0.0) * rate;
        Self { bytes, ..self }
    }
}
