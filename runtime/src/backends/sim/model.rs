//! [`Model`]: a [`DeviceModel`] in the units of the simulation.

use std::time::Duration;

use crate::base::model::DeviceModel;

/// Virtual time.
pub(super) use crate::driver::Nanos;

/// Costs in nanoseconds and rates in bytes a nanosecond, all of them finite.
#[derive(Debug)]
pub(super) struct Model {
    pub to_device: f64,
    pub to_host: f64,
    pub duplex: f64,
    pub memory_rate: f64,
    pub host_memcpy: f64,
    pub copy_latency: Nanos,
    pub duplex_latency: Nanos,
    pub small_copy_latency: Nanos,
    pub launch_latency: Nanos,
    pub event_latency: Nanos,
    pub host_latency: Nanos,
    pub signal_latency: Nanos,
    pub host_call: Nanos,
    pub launch_call: Nanos,
    pub event_call: Nanos,
    pub graph_launch: Nanos,
    pub graph_update: Nanos,
    pub concurrent_kernels: usize,
    pub multiprocessors: f64,
}

impl Model {
    pub(crate) fn new(spec: &DeviceModel) -> Self {
        let duplex = if spec.duplex > 0.0 { spec.duplex.clamp(1e-3, 1.0) } else { 1.0 };
        Self {
            to_device: rate(spec.to_device),
            to_host: rate(spec.to_host),
            duplex,
            memory_rate: rate(spec.memory_rate),
            host_memcpy: rate(spec.host_memcpy),
            copy_latency: nanos(spec.copy_latency),
            duplex_latency: nanos(spec.duplex_latency),
            small_copy_latency: nanos(spec.small_copy_latency),
            launch_latency: nanos(spec.launch_latency),
            event_latency: nanos(spec.event_latency),
            host_latency: nanos(spec.host_latency),
            signal_latency: nanos(spec.signal_latency),
            host_call: nanos(spec.host_call),
            launch_call: nanos(spec.launch_call),
            event_call: nanos(spec.event_call),
            graph_launch: nanos(spec.graph_launch),
            graph_update: nanos(spec.graph_update),
            concurrent_kernels: spec.concurrent_kernels.max(1) as usize,
            multiprocessors: f64::from(spec.multiprocessors.max(1)),
        }
    }

    /// The share of the device that a kernel of so many blocks can use: that of the multiprocessors with a
    /// block. `None` means that the number is not known, and gives the whole device.
    pub(crate) fn share(&self, blocks: Option<u64>) -> f64 {
        blocks.map_or(1.0, |blocks| (blocks.max(1) as f64 / self.multiprocessors).min(1.0))
    }

    /// The time that these numbers of bytes take over the link, to the device and to the host at the same
    /// time.
    pub(crate) fn both_ways(&self, to_device: f64, to_host: f64) -> Nanos {
        let (up, down) = (to_device / self.to_device, to_host / self.to_host);
        let both = up.min(down);
        both / self.duplex + (up.max(down) - both)
    }
}

pub(super) fn rate(bytes_per_second: f64) -> f64 {
    // The bounds keep every quotient finite; neither is near a rate that exists.
    if bytes_per_second > 0.0 { (bytes_per_second / 1e9).clamp(1e-12, 1e30) } else { 1e30 }
}

pub(super) fn nanos(duration: Duration) -> Nanos {
    duration.as_secs_f64() * 1e9
}
