//! [`DeviceModel`]: the sizes and speeds of a device.

use std::time::Duration;

/// Bytes of the largest copy between the host and the device that a kernel may carry out in the graph of a run.
pub(crate) const SMALL_COPY: usize = 64 << 10;

/// The sizes and speeds of a device. [`Device::calibration`](crate::Device::calibration) measures them. A
/// simulated device that is made of a model behaves like it, as far as it can.
///
/// Start from a preset and change what matters:
///
/// ```
/// use thalweg::sim::DeviceModel;
/// use thalweg::Device;
///
/// let mut small = DeviceModel::h200();
/// small.memory = 64 << 20;
/// assert_eq!(Device::simulated(small).memory(), 64 << 20);
/// ```
///
/// A rate that is zero, negative or not a number means that the work takes no time, and a latency or a call of zero takes
/// none either. In a [file](Self::save) every field stands under its name: sizes in bytes, rates in bytes a second, times
/// in seconds.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeviceModel {
    /// The device's name, such as `simulated H200`.
    pub name: String,
    /// Device memory, in bytes.
    pub memory: u64,
    /// Page-locked host memory that may be allocated at a time, in bytes.
    pub pinned_memory: u64,
    /// Compute capability, such as `(9, 0)` for Hopper.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory that a block may use, static and dynamic together, in bytes.
    pub max_shared: u32,
    /// The second-level cache, in bytes. The simulation has no caches; the runtime's choices for the device
    /// depend on it.
    pub cache: u64,
    /// Kernels that may execute at the same time, at least 1.
    pub concurrent_kernels: u32,
    /// Stream priorities, `(least, greatest)`; numerically lower is more urgent.
    pub priorities: (i32, i32),
    /// Rate of a copy from page-locked host memory to the device while nothing is copied the other way, in
    /// bytes a second.
    pub to_device: f64,
    /// Rate of a copy from the device to page-locked host memory while nothing is copied the other way, in
    /// bytes a second.
    pub to_host: f64,
    /// Share of its rate that each direction keeps while both are copying, above 0 and at most 1. With 1 the directions
    /// do not slow each other down; so it is with any number that is not above 0.
    pub duplex: f64,
    /// Rate at which all kernels and copies on the device together access device memory, in bytes a second. A
    /// kernel with fewer blocks than there are multiprocessors gets only the share of the multiprocessors
    /// that its blocks occupy.
    pub memory_rate: f64,
    /// Rate at which the host's copy threads together copy between pageable and page-locked memory, in bytes
    /// a second.
    pub host_memcpy: f64,
    /// Rate at which one thread of the host does so with data that are not in its caches, in bytes a second.
    /// It decides how many threads copy, as few as possible if it is zero; the simulation does not use it.
    pub thread_memcpy: f64,
    /// The time from the start of a copy until its first byte moves.
    pub copy_latency: Duration,
    /// The additional latency of a copy that begins while copies go the other way.
    pub duplex_latency: Duration,
    /// The time that a copy of at most 64 KiB between the host and the device costs in the graph of a run, beside that
    /// of its bytes. On a GPU it is that of a kernel which copies to the device; copies the other way do not add to it.
    pub small_copy_latency: Duration,
    /// The time from the start of a kernel until it accesses its first byte.
    pub launch_latency: Duration,
    /// The time from the completion of an event on one stream until another stream that waits for it
    /// continues.
    pub event_latency: Duration,
    /// The time that a host function, such as `host` in a stage, costs its stream besides its work: to hand it to a
    /// thread, and to tell the stream that it has ended.
    pub host_latency: Duration,
    /// The time that a signal to the host costs its stream: that of `then`, for which the stream does not wait.
    pub signal_latency: Duration,
    /// The host time of a call that enqueues a copy, or anything else but a kernel.
    pub host_call: Duration,
    /// The host time of a call that launches a kernel. A call that fills memory is taken to cost as much.
    pub launch_call: Duration,
    /// The host time of a call that records an event, or makes a stream wait for one.
    pub event_call: Duration,
    /// The host time of a call that launches a graph.
    pub graph_launch: Duration,
    /// The host time of a call that changes a node of a graph.
    pub graph_update: Duration,
}

impl DeviceModel {
    /// The latency of a copy of so many bytes: the larger one, if a graph's has another.
    pub(crate) fn latency_of_copy(&self, bytes: u64) -> Duration {
        let in_graph = (bytes <= SMALL_COPY as u64).then_some(self.small_copy_latency);
        in_graph.map_or(self.copy_latency, |latency| latency.max(self.copy_latency))
    }

    /// An H200 on PCIe 5 x16. Its copy rates, their contention and the host's costs follow measurements on
    /// one. The other latencies on the device and the rates of its memory and of CPU copies are estimates.
    pub fn h200() -> Self {
        Self {
            name: "simulated H200".to_owned(),
            memory: 150_754_820_096,
            pinned_memory: 1 << 40,
            compute_capability: (9, 0),
            multiprocessors: 132,
            max_shared: 227 << 10,
            cache: 60 << 20,
            concurrent_kernels: 128,
            priorities: (0, -5),
            to_device: 55.3e9,
            to_host: 55.3e9,
            // 1 GiB in and 1 GiB out at the same time take 21.1 ms: 50.9 GB/s each way.
            duplex: 0.9203,
            memory_rate: 4.2e12,
            host_memcpy: 72e9,
            thread_memcpy: 9.5e9,
            copy_latency: Duration::from_nanos(2_400),
            // In pieces of 1 MiB, 1 GiB each way takes 1.18 times as long as in one piece.
            duplex_latency: Duration::from_nanos(1_400),
            // One after another, copies of 64 KiB to the device take 3.5 us each, and their bytes 1.2.
            small_copy_latency: Duration::from_nanos(2_300),
            launch_latency: Duration::from_nanos(2_500),
            event_latency: Duration::from_nanos(1_000),
            host_latency: Duration::from_nanos(20_000),
            signal_latency: Duration::from_nanos(2_100),
            host_call: Duration::from_nanos(1_800),
            launch_call: Duration::from_nanos(1_800),
            event_call: Duration::from_nanos(250),
            // A chunk of two copies and a kernel as a graph of its own takes 2.6 us, with all three nodes
            // changed and launched.
            graph_launch: Duration::from_nanos(2_000),
            graph_update: Duration::from_nanos(200),
        }
    }

    /// An A100 with 80 GiB on PCIe 4 x16. Sizes and limits are the vendor's; rates and latencies are
    /// estimates, not measured.
    pub fn a100() -> Self {
        Self {
            name: "simulated A100".to_owned(),
            memory: 80 << 30,
            compute_capability: (8, 0),
            multiprocessors: 108,
            max_shared: 163 << 10,
            cache: 40 << 20,
            to_device: 25.0e9,
            to_host: 26.0e9,
            duplex: 0.85,
            memory_rate: 1.75e12,
            host_memcpy: 40e9,
            thread_memcpy: 8e9,
            copy_latency: Duration::from_nanos(2_800),
            small_copy_latency: Duration::from_nanos(2_700),
            launch_latency: Duration::from_nanos(3_000),
            event_latency: Duration::from_nanos(1_200),
            host_call: Duration::from_nanos(2_000),
            launch_call: Duration::from_nanos(2_000),
            event_call: Duration::from_nanos(300),
            ..Self::h200()
        }
    }

    /// A GeForce RTX 4090 on PCIe 4 x16. Sizes and limits are the vendor's; rates and latencies are
    /// estimates, not measured.
    pub fn rtx4090() -> Self {
        Self {
            name: "simulated RTX 4090".to_owned(),
            memory: 24 << 30,
            compute_capability: (8, 9),
            multiprocessors: 128,
            max_shared: 99 << 10,
            cache: 72 << 20,
            to_device: 25.0e9,
            to_host: 26.0e9,
            duplex: 0.85,
            memory_rate: 0.92e12,
            host_memcpy: 30e9,
            thread_memcpy: 10e9,
            ..Self::h200()
        }
    }

    /// An L40S on PCIe 4 x16. Sizes and limits are the vendor's; rates and latencies are estimates, not measured.
    pub fn l40s() -> Self {
        Self {
            name: "simulated L40S".to_owned(),
            memory: 48 << 30,
            compute_capability: (8, 9),
            multiprocessors: 142,
            max_shared: 99 << 10,
            cache: 96 << 20,
            to_device: 25.0e9,
            to_host: 26.0e9,
            duplex: 0.85,
            memory_rate: 0.8e12,
            host_memcpy: 40e9,
            thread_memcpy: 8e9,
            ..Self::h200()
        }
    }

    /// A T4 on PCIe 3 x16. Sizes and limits are the vendor's; rates and latencies are estimates, not
    /// measured.
    pub fn t4() -> Self {
        Self {
            name: "simulated T4".to_owned(),
            memory: 15 << 30,
            compute_capability: (7, 5),
            multiprocessors: 40,
            max_shared: 64 << 10,
            cache: 4 << 20,
            to_device: 12.2e9,
            to_host: 12.9e9,
            duplex: 0.85,
            memory_rate: 0.24e12,
            host_memcpy: 20e9,
            thread_memcpy: 6e9,
            copy_latency: Duration::from_nanos(3_500),
            small_copy_latency: Duration::from_nanos(3_400),
            launch_latency: Duration::from_nanos(4_000),
            event_latency: Duration::from_nanos(1_500),
            host_call: Duration::from_nanos(2_500),
            launch_call: Duration::from_nanos(2_500),
            event_call: Duration::from_nanos(400),
            ..Self::h200()
        }
    }
}

impl Default for DeviceModel {
    /// The model [`DeviceModel::h200`].
    fn default() -> Self {
        Self::h200()
    }
}
