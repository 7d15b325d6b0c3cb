//! [`Demand`]: what some work asks of an engine.

use std::time::Duration;

use super::model::{Model, Nanos};
use crate::base::engine;

/// What carries work out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    CopyToDevice,
    CopyToHost,
    Compute,
    /// The thread that host functions run on.
    Host,
    /// The threads that copy between pageable and pinned memory, in a forecast.
    Staging,
}

/// What some work asks of an engine, whichever memory it is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    pub(super) engine: Engine,
    pub(super) latency: Nanos,
    /// What goes through the engine after the latency.
    pub(super) bytes: f64,
    /// Of the engine, how much the work can use at most: a kernel of few blocks leaves multiprocessors idle.
    pub(super) share: f64,
}

impl Demand {
    fn new(engine: Engine, latency: Nanos, bytes: f64) -> Self {
        Self { engine, latency, bytes, share: 1.0 }
    }

    /// A copy's that an engine carries out, in bytes.
    pub(super) fn copy(model: &Model, engine: engine::Engine, bytes: f64) -> Self {
        let (engine, traffic) = match engine {
            engine::Engine::ToDevice => (Engine::CopyToDevice, bytes),
            engine::Engine::ToHost => (Engine::CopyToHost, bytes),
            // It reads and writes device memory.
            engine::Engine::Compute | engine::Engine::Host => (Engine::Compute, 2.0 * bytes),
        };
        Self::new(engine, model.copy_latency, traffic)
    }

    /// That of a kernel or a fill, in bytes of device memory that it gets through. `blocks`: of a launch.
    pub(super) fn kernel(model: &Model, bytes: f64, blocks: Option<u64>) -> Self {
        Self { share: model.share(blocks), ..Self::new(Engine::Compute, model.launch_latency, bytes) }
    }

    /// That of a function on the CPU, in bytes that it gets through.
    pub(super) fn host(model: &Model, bytes: f64) -> Self {
        Self::new(Engine::Host, model.host_latency, bytes)
    }

    /// A signal's to the host.
    pub(super) fn signal(model: &Model) -> Self {
        Self::new(Engine::Host, model.signal_latency, 0.0)
    }

    /// That of a copy between pageable and page-locked memory, in bytes.
    pub(super) fn staging(bytes: f64) -> Self {
        Self::new(Engine::Staging, 0.0, bytes)
    }

    /// A kernel's that also reads and writes so many bytes of the host's memory.
    pub(super) fn over_the_link(self, model: &Model, [reads, writes]: [f64; 2]) -> Self {
        let link = model.both_ways(reads, writes) * model.memory_rate;
        Self { bytes: self.bytes.max(link), ..self }
    }

    /// That of a kernel or a function that is known to take so long alone: as much as gets through in that
    /// time.
    pub(super) fn taking(self, model: &Model, time: Duration) -> Self {
        let rate = match self.engine {
            Engine::Compute => model.memory_rate * self.share,
            Engine::CopyToDevice => model.to_device,
            Engine::CopyToHost => model.to_host,
            Engine::Host | Engine::Staging => model.host_memcpy,
        };
        let bytes = (time.as_secs_f64() * 1e9 - self.latency).max(0.0) * rate;
        Self { bytes, ..self }
    }
}
