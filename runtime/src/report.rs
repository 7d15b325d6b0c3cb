//! [`Report`]: what a run did.

use std::fmt;
use std::time::Duration;

/// What a run did: how much, how long, how fast.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Name of the pipeline's type.
    pub pipeline: &'static str,
    /// Name of the device.
    pub device: String,
    /// Items processed.
    pub items: usize,
    /// Chunks they came in.
    pub chunks: usize,
    /// Items in a chunk (the last one may have fewer).
    pub chunk: usize,
    /// Ring slots.
    pub depth: usize,
    /// Bytes copied from host to device.
    pub bytes_to_device: u64,
    /// Bytes copied from device to host.
    pub bytes_to_host: u64,
    /// How many of those bytes, both ways together, were staged by the CPU because the host memory is pageable.
    pub bytes_staged: u64,
    /// From the first call to the last result: real time on a GPU, virtual time on the simulated device.
    pub time: Duration,
    /// Whether `time` is virtual.
    pub simulated: bool,
}

impl Report {
    /// Bytes per second from host to device, over the whole run.
    pub fn bandwidth_to_device(&self) -> f64 {
        rate(self.bytes_to_device, self.time)
    }

    /// Bytes per second from device to host, over the whole run.
    pub fn bandwidth_to_host(&self) -> f64 {
        rate(self.bytes_to_host, self.time)
    }
}

fn rate(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { bytes as f64 / time.as_secs_f64() }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pipeline, device, items, chunks, chunk, depth, .. } = self;
        let kind = if self.simulated { " (virtual time)" } else { "" };
        writeln!(f, "{pipeline} on {device}: {items} items in {chunks} chunks of {chunk}, depth {depth}")?;
        writeln!(
            f,
            "  {:.3} ms{kind}, {:.1} GB/s to the device, {:.1} GB/s back",
            self.time.as_secs_f64() * 1e3,
            self.bandwidth_to_device() / 1e9,
            self.bandwidth_to_host() / 1e9,
        )?;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "  {:.1} MiB to the device, {:.1} MiB back, {:.1} MiB of them staged by the CPU",
            mib(self.bytes_to_device),
            mib(self.bytes_to_host),
            mib(self.bytes_staged),
        )
    }
}
