//! [`Report`]: the figures of a run.

use std::fmt;
use std::time::Duration;

use super::machine::SharedLimit;

/// The figures of a run: the amount of work, the time and the rates. `Display` prints them.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::saxpy;
///
/// # stream_pipeline! {
/// #     pipeline Saxpy {
/// #         param a: f32;
/// #         input x: [f32];
/// #         inout y: [f32];
/// #         chunk c = auto;
/// #         stage load { copy x -> dx; copy y -> dy; }
/// #         stage axpy { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
/// #         stage store { copy dy -> y; }
/// #     }
/// # }
/// let mut saxpy = Saxpy::options(&Device::simulated(Simulation::h200())).chunk(1024).depth(3).build()?;
/// let report = saxpy.run(3.0, &[1.0; 3500], &mut [2.0; 3500])?;
/// assert_eq!((report.items, report.chunks, report.chunk), (3500, 4, 1024));
/// assert_eq!(report.bytes_to_device, 2 * 3500 * 4); // x and y
/// assert_eq!(report.bytes_to_host, 3500 * 4);
/// assert_eq!(report.bytes_staged, 3 * 3500 * 4); // arrays are pageable
/// assert_eq!(report.device_memory, 3 * 2 * 1024 * 4); // 3 slots of dx and dy
///
/// let text = report.to_string();
/// assert!(text.starts_with("Saxpy on simulated H200: 3500 items in 4 chunks of 1024, depth 3\n"));
/// assert!(text.ends_with("27.3 KiB to the device, 13.7 KiB back, 41.0 KiB of them staged by the CPU"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// Name of the pipeline's type.
    pub pipeline: &'static str,
    /// Name of the device.
    pub device: String,
    /// Items processed.
    pub items: usize,
    /// Chunks of the run.
    pub chunks: usize,
    /// Items in the largest chunk. The last chunk may have fewer, and so may the first ones if the chunk is
    /// `auto`.
    pub chunk: usize,
    /// The depth of the ring, in slots.
    pub depth: usize,
    /// Whether the operations were launched as CUDA graphs.
    pub graph: bool,
    /// Whether these were the graphs of the run before, launched again. This happens on GPUs only, if the run
    /// was given the same arguments, so that nothing had to be recorded. On several GPUs it is said of each in `parts`.
    pub repeated: bool,
    /// Whether stages of kernels that name no stream had one stream for each slot, as earlier runs had
    /// suggested.
    pub stream_per_slot: bool,
    /// Bytes copied from host to device, including copies from `host` scratch. Memory used in place is not
    /// copied.
    pub bytes_to_device: u64,
    /// Bytes copied from device to host, including copies to `host` scratch.
    pub bytes_to_host: u64,
    /// How many of those bytes, in both directions together, the CPU staged because the host memory is
    /// pageable, or because they were read from a source or written to a sink.
    pub bytes_staged: u64,
    /// Bytes of device memory that the pipeline holds for its slots and for the memory that its runs share.
    /// The pipeline keeps them until it is dropped, as many as its largest run took.
    pub device_memory: u64,
    /// Bytes of page-locked host memory that the pipeline holds for staging and for `host` scratch. The
    /// pipeline keeps them as it keeps [`device_memory`](Self::device_memory).
    pub pinned_memory: u64,
    /// The time from the first call until the last operation was enqueued, which includes the host's copies
    /// and waits for staging. It is virtual on the simulated device.
    pub enqueuing: Duration,
    /// The time from the first call to the last result: real on a GPU, virtual on the simulated device.
    pub time: Duration,
    /// The sources and sinks that the run waited for, each for a second or more altogether, in the order of
    /// their declarations.
    pub awaited: Vec<Awaited>,
    /// What each device had, by its number, if the pipeline was built on several; empty if it was built on one. The
    /// figures above are then of all devices together: items, chunks and bytes are sums, `chunk` and `depth` are the
    /// largest, the times those of the device that was last, and `repeated` says that all of them were. A device that
    /// had no chunk is listed, too.
    pub parts: Vec<Report>,
    /// What several devices share, if it has made the run longer. It is known of simulated machines, and of GPUs after
    /// [`MachineModel::calibrate`](crate::sim::MachineModel::calibrate), or a profile or a prediction on them, in this
    /// process.
    pub shared: Option<SharedLimit>,
    /// Whether `time` is virtual.
    pub simulated: bool,
}

/// A source or a sink that has kept a run waiting.
///
/// A run that waits for a source or a sink for five seconds says so once: as a `tracing` event (level `WARN`,
/// with the feature), and on standard error if the program is built with debug assertions.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Awaited {
    /// The argument.
    pub host: &'static str,
    /// Whether it is a sink.
    pub is_sink: bool,
    /// The total time that the run waited: real time on every device.
    pub time: Duration,
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, is_sink, time } = self;
        let what = if *is_sink { "sink" } else { "source" };
        write!(f, "{:.1} s for {what} `{host}`", time.as_secs_f64())
    }
}

impl Report {
    /// Bytes per second from host to device, over the whole run: [`bytes_to_device`](Self::bytes_to_device)
    /// divided by [`time`](Self::time). It is 0 for a run that took no time.
    pub fn bandwidth_to_device(&self) -> f64 {
        rate(self.bytes_to_device, self.time)
    }

    /// Bytes per second from device to host, over the whole run. It is 0 for a run that took no time.
    pub fn bandwidth_to_host(&self) -> f64 {
        rate(self.bytes_to_host, self.time)
    }
}

impl Report {
    /// The report of a run with several devices, of which each has one of `parts`: at least one.
    pub(crate) fn of_parts(parts: Vec<Self>) -> Self {
        let sum = |of: fn(&Self) -> u64| parts.iter().map(of).fold(0, u64::saturating_add);
        let longest = |of: fn(&Self) -> Duration| parts.iter().map(of).max().unwrap_or_default();
        Self {
            device: devices(&parts),
            items: parts.iter().map(|part| part.items).fold(0, usize::saturating_add),
            chunks: parts.iter().map(|part| part.chunks).fold(0, usize::saturating_add),
            chunk: parts.iter().map(|part| part.chunk).max().unwrap_or(1),
            depth: parts.iter().map(|part| part.depth).max().unwrap_or(1),
            repeated: parts.iter().all(|part| part.repeated),
            bytes_to_device: sum(|part| part.bytes_to_device),
            bytes_to_host: sum(|part| part.bytes_to_host),
            bytes_staged: sum(|part| part.bytes_staged),
            device_memory: sum(|part| part.device_memory),
            pinned_memory: sum(|part| part.pinned_memory),
            enqueuing: longest(|part| part.enqueuing),
            time: longest(|part| part.time),
            // The sources and sinks are those of all devices together, which the run itself asks.
            awaited: Vec::new(),
            parts: parts.clone(),
            shared: None,
            ..parts[0]
        }
    }

    /// Writes what each of several devices had.
    fn write_parts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Self { device, items, chunks, time, .. }) in self.parts.iter().enumerate() {
            let (s, millis) = (if *chunks == 1 { "" } else { "s" }, time.as_secs_f64() * 1e3);
            write!(f, "\n  device {number}, {device}: {chunks} chunk{s}, {items} items in {millis:.3} ms")?;
        }
        Ok(())
    }

    /// Writes what the devices share and what it has cost.
    fn write_shared(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(shared) = &self.shared else { return Ok(()) };
        let share = 100.0 * shared.lost.as_secs_f64() / self.time.as_secs_f64().max(f64::MIN_POSITIVE);
        write!(f, "\n  {shared}, which costs {share:.0} % of the run")
    }

    /// Writes a line for each source or sink that was waited for.
    fn write_awaited(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.awaited.iter().try_for_each(|awaited| write!(f, "\n  waited {awaited}"))
    }
}

/// The names of the parts' devices: `2 x NVIDIA H200`, `NVIDIA H200 + NVIDIA L40S`.
fn devices(parts: &[Report]) -> String {
    let mut named: Vec<(&str, usize)> = Vec::new();
    for part in parts {
        match named.iter_mut().find(|(name, _)| *name == part.device) {
            Some((_, count)) => *count += 1,
            None => named.push((&part.device, 1)),
        }
    }
    let with_count = |(name, count): &(&str, usize)| match count {
        1 => (*name).to_owned(),
        _ => format!("{count} x {name}"),
    };
    named.iter().map(with_count).collect::<Vec<_>>().join(" + ")
}

fn rate(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { bytes as f64 / time.as_secs_f64() }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pipeline, device, items, chunks, chunk, depth, graph, repeated, .. } = self;
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        write!(f, "{pipeline} on {device}: ")?;
        match chunks {
            0 => write!(f, "no items")?,
            _ => {
                let (of_items, of_chunks) = (plural(*items), plural(*chunks));
                let even = if items.div_ceil(*chunk) == *chunks { "" } else { "up to " };
                write!(f, "{items} item{of_items} in {chunks} chunk{of_chunks} of {even}{chunk}")?;
            }
        }
        let graphs = match (graph, repeated) {
            (true, true) => ", in graphs, as before",
            (true, false) => ", in graphs",
            (false, _) => "",
        };
        writeln!(f, ", depth {depth}{graphs}")?;
        let seconds = self.time.as_secs_f64();
        if seconds < 1e-4 {
            write!(f, "  {:.1} us", seconds * 1e6)?;
        } else {
            write!(f, "  {:.3} ms", seconds * 1e3)?;
        }
        write!(f, "{}", if self.simulated { " (virtual time)" } else { "" })?;
        if (self.bytes_to_device, self.bytes_to_host) == (0, 0) {
            write!(f, ", nothing copied")?;
            self.write_parts(f)?;
            return self.write_awaited(f);
        }
        writeln!(
            f,
            ", {:.1} GB/s to the device, {:.1} GB/s back",
            self.bandwidth_to_device() / 1e9,
            self.bandwidth_to_host() / 1e9,
        )?;
        write!(f, "  {} to the device, {} back", Bytes(self.bytes_to_device), Bytes(self.bytes_to_host))?;
        if self.bytes_staged > 0 {
            write!(f, ", {} of them staged by the CPU", Bytes(self.bytes_staged))?;
        }
        self.write_parts(f)?;
        self.write_shared(f)?;
        self.write_awaited(f)
    }
}

/// A number of bytes, displayed in the unit that suits it.
pub(crate) struct Bytes(pub(crate) u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0 as f64;
        match self.0 {
            0..1024 => write!(f, "{} B", self.0),
            1024..1_048_576 => write!(f, "{:.1} KiB", bytes / 1024.0),
            1_048_576..1_073_741_824 => write!(f, "{:.1} MiB", bytes / 1_048_576.0),
            _ => write!(f, "{:.2} GiB", bytes / 1_073_741_824.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Report {
        /// The report of a run of one item that took no time on a GPU. Tests change the fields that matter to
        /// them.
        pub(crate) fn of_nothing() -> Self {
            Self {
                pipeline: "P",
                device: String::new(),
                items: 1,
                chunks: 1,
                chunk: 1,
                depth: 1,
                graph: false,
                repeated: false,
                stream_per_slot: false,
                bytes_to_device: 0,
                bytes_to_host: 0,
                bytes_staged: 0,
                device_memory: 0,
                pinned_memory: 0,
                enqueuing: Duration::ZERO,
                time: Duration::ZERO,
                awaited: Vec::new(),
                parts: Vec::new(),
                shared: None,
                simulated: false,
            }
        }
    }

    #[test]
    fn a_run_says_what_it_did() {
        let report = |items, chunks, chunk| Report {
            pipeline: "Saxpy",
            device: "simulated H200".to_owned(),
            items,
            chunks,
            chunk,
            depth: 3,
            simulated: true,
            ..Report::of_nothing()
        };
        for (report, said) in [
            (report(0, 0, 1), "Saxpy on simulated H200: no items, depth 3"),
            (report(1, 1, 1), "Saxpy on simulated H200: 1 item in 1 chunk of 1, depth 3"),
            (report(9, 2, 5), "Saxpy on simulated H200: 9 items in 2 chunks of 5, depth 3"),
            (
                Report { graph: true, ..report(0, 0, 1) },
                "Saxpy on simulated H200: no items, depth 3, in graphs",
            ),
            (
                Report { graph: true, repeated: true, ..report(0, 0, 1) },
                "Saxpy on simulated H200: no items, depth 3, in graphs, as before",
            ),
        ] {
            assert_eq!(report.to_string(), format!("{said}\n  0.0 us (virtual time), nothing copied"));
        }
    }

    #[test]
    fn a_run_on_several_devices_is_repeated_if_all_parts_are() {
        let part = |repeated| Report { graph: true, repeated, ..Report::of_nothing() };
        for (parts, repeated) in [([true, true], true), ([true, false], false), ([false, true], false)] {
            assert_eq!(Report::of_parts(parts.map(part).to_vec()).repeated, repeated, "{parts:?}");
        }
    }

    #[test]
    fn times_and_rates_have_units_that_suit_them() {
        let report = |micros, bytes| Report {
            device: "a GPU".to_owned(),
            bytes_to_device: bytes,
            bytes_to_host: bytes,
            time: Duration::from_micros(micros),
            ..Report::of_nothing()
        };
        let copied = "0.1 GB/s to the device, 0.1 GB/s back\n  4.0 KiB to the device, 4.0 KiB back";
        for (report, said) in [
            (report(80, 0), "80.0 us, nothing copied".to_owned()),
            (report(80, 4096), format!("80.0 us, {copied}")),
            (report(2000, 0), "2.000 ms, nothing copied".to_owned()),
        ] {
            assert_eq!(report.to_string(), format!("P on a GPU: 1 item in 1 chunk of 1, depth 1\n  {said}"));
        }
    }
}
