//! Measuring a device with its own copies, fills, events and graphs, and a kernel that does nothing.
//!
//! Everything is timed by the driver's clock. On the simulated device that clock is virtual, so a measurement
//! of it gives the rates and times of its model. The quickest of several tries counts, since anything else
//! that goes on only makes them slower. For the host's calls the median counts.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::nothing::Nothing;
use crate::base::error::Result;
use crate::base::host_copy::{PIECE, Way, Workers, copy_with, numa};
use crate::base::model::{DeviceModel, SMALL_COPY};
use crate::base::plan::Priority;
use crate::device::Device;
use crate::device::memory::{DeviceMemory, NO_OPERATION, PinnedCore};
use crate::device::stream::{Event, Stream};
use crate::driver::{Command, Driver, DriverResult, Tag};

// Note 26: a GPU is measured by the driver's own operations.
/// Bytes of a large copy, so many that its latency is negligible.
pub(super) const LARGE: usize = 32 << 20;

/// The same on the CPU, where each byte takes longer, and latencies are those of a function's call.
const LARGE_ON_CPU: usize = 4 << 20;

/// The smallest size of a large copy, if memory does not suffice for more.
pub(super) const LEAST: usize = 1 << 20;

/// Bytes of a copy whose time is all latency.
pub(super) const SMALL: usize = 64;

/// Bytes of a copy whose latency is a measurable part of its time.
const MIDDLING: usize = 1 << 20;

/// The number of large copies one after another.
pub(super) const COPIES: usize = 4;

/// The number of small operations one after another. They fit in a stream's queue, and are enqueued sooner
/// than a large copy is done.
pub(super) const MANY: usize = 32;

/// The number of pieces after which an event is recorded anew.
const SLOTS: usize = 4;

/// The number of tries.
const TRIES: usize = 5;

/// Bytes of the slot that a thread copies in.
const SLOT: usize = 8 << 20;

pub(super) const TAG: Tag = NO_OPERATION;

pub(super) fn measure(device: &Device) -> Result<DeviceModel> {
    let mut bytes = if device.is_cpu() { LARGE_ON_CPU } else { LARGE };
    loop {
        match Rig::new(device, bytes) {
            Ok(rig) => return Ok(rig.spec()?),
            Err(error) if error.is_out_of_memory() && bytes > LEAST => bytes /= 2,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Streams, and memory for a large copy each way.
pub(super) struct Rig<'d> {
    pub(super) device: &'d Device,
    pub(super) streams: [Stream; 3],
    events: [Event; 3],
    /// The memory is freed if the device can be waited for.
    pub(super) on_device: [ManuallyDrop<DeviceMemory>; 2],
    pinned: [PinnedCore; 2],
    pub(super) bytes: usize,
    /// Whether another device may still use the memory.
    is_left: AtomicBool,
}

/// One of the streams.
#[derive(Clone, Copy)]
pub(super) enum On {
    First,
    Second,
    Third,
}

/// The direction of a copy.
#[derive(Clone, Copy)]
pub(super) enum Direction {
    ToDevice,
    ToHost,
    OnDevice,
}

impl<'d> Rig<'d> {
    pub(super) fn new(device: &'d Device, bytes: usize) -> DriverResult<Self> {
        let stream = || Stream::new(device, Priority::Default);
        let memory = || DeviceMemory::new(device, bytes);
        let pinned = || PinnedCore::new(device, bytes);
        let event = || Event::new(device);
        let streams = [stream()?, stream()?, stream()?];
        let events = [event()?, event()?, event()?];
        // These are freed if the allocations after them fail.
        let on_device = [memory()?, memory()?];
        let pinned = [pinned()?, pinned()?];
        Ok(Self {
            device,
            streams,
            events,
            on_device: on_device.map(ManuallyDrop::new),
            pinned,
            bytes,
            is_left: AtomicBool::new(false),
        })
    }

    fn spec(&self) -> DriverResult<DeviceModel> {
        self.warm_up()?;
        self.driver().prepare_small_copies();
        let info = self.driver().info();
        let kernel = Nothing::load(self.device);
        let launch = |on: On| match &kernel {
            Some(kernel) => kernel.launch(self.device, self.stream(on)),
            None => self.fill(on),
        };
        let small = |on: On, direction: Direction| self.copy(on, direction, SMALL);
        let copy_latency = self.behind_a_copy(|| small(On::First, Direction::ToDevice))?;
        let launch_latency = self.behind_a_copy(|| launch(On::First))?;
        // The way of one chunk: to the device, through a kernel and back, before the next one comes. A copy to the host
        // that something waits for takes longer than one of many in its stream, and this is where it counts.
        let chunk = self.behind_a_copy(|| {
            small(On::First, Direction::ToDevice)?;
            self.hand_over(On::First, On::Second)?;
            launch(On::Second)?;
            self.hand_over(On::Second, On::Third)?;
            small(On::Third, Direction::ToHost)?;
            self.hand_over(On::Third, On::First)
        })?;
        let hops = chunk - 2.0 * copy_latency - launch_latency;
        let signal_latency = self.behind_a_copy(|| self.signal())?;
        let host_latency = self.behind_a_copy(|| self.host())?;
        let [to_device, to_host] = [Direction::ToDevice, Direction::ToHost];
        let [up, down] = [self.large_copies(&[to_device])?, self.large_copies(&[to_host])?];
        let both = self.large_copies(&[to_device, to_host])?;
        let on_device = self.large_copies(&[Direction::OnDevice])?;
        let rate = |seconds: f64| self.bytes as f64 / (seconds - copy_latency).max(1e-12);
        let duplex_latency = self.copies_both_ways_latency(both)? - copy_latency;
        let small_copy_latency = self.small_copy_in_a_graph()? - SMALL_COPY as f64 / rate(up);
        let [graph_launch, graph_update] = self.graph(kernel.as_ref())?;
        let event_call = self.enqueuing(|| self.record(On::First))?;
        let spec = DeviceModel {
            name: format!("simulated {}", info.name.trim_start_matches("simulated ")),
            memory: info.memory,
            compute_capability: info.compute_capability,
            multiprocessors: info.multiprocessors,
            max_shared: info.max_shared,
            cache: info.cache,
            priorities: info.priorities,
            to_device: rate(up),
            to_host: rate(down),
            duplex: (up.max(down) / both.max(1e-12)).clamp(0.01, 1.0),
            // A copy on the device both reads and writes.
            memory_rate: 2.0 * rate(on_device),
            thread_memcpy: self.thread_memcpy(),
            copy_latency: seconds(copy_latency),
            duplex_latency: seconds(duplex_latency),
            small_copy_latency: seconds(small_copy_latency),
            launch_latency: seconds(launch_latency),
            event_latency: seconds(hops / 3.0),
            host_latency: seconds(host_latency),
            signal_latency: seconds(signal_latency),
            host_call: seconds(self.call(event_call)?),
            launch_call: seconds(self.enqueuing(|| launch(On::First))?),
            event_call: seconds(event_call),
            graph_launch: seconds(graph_launch),
            graph_update: seconds(graph_update),
            ..DeviceModel::h200()
        };
        let workers = Workers::near(self.driver().node());
        workers.employ(self.driver().info().index.unwrap_or(0), spec.copy_threads());
        Ok(DeviceModel { host_memcpy: self.host_memcpy(workers)?, ..spec })
    }

    pub(super) fn driver(&self) -> &'d dyn Driver {
        self.device.driver()
    }

    pub(super) fn stream(&self, on: On) -> &Stream {
        &self.streams[on as usize]
    }

    /// Wakes up the device, whose clocks slow down while it is idle.
    pub(super) fn warm_up(&self) -> DriverResult<()> {
        for _ in 0..8 {
            self.large_copies_once(&[Direction::ToDevice, Direction::ToHost], COPIES)?;
        }
        Ok(())
    }

    /// Seconds from the first call of `work` until the device has completed everything that it enqueues.
    pub(super) fn time(&self, work: impl FnOnce() -> DriverResult<()>) -> DriverResult<f64> {
        let start = self.driver().clock();
        work()?;
        self.streams.iter().try_for_each(Stream::synchronize)?;
        Ok(self.driver().clock().saturating_sub(start).as_secs_f64())
    }

    /// Seconds from one large copy to the next, in these directions at the same time.
    fn large_copies(&self, directions: &[Direction]) -> DriverResult<f64> {
        let one = quickest(|| self.large_copies_once(directions, 1))?;
        let all = quickest(|| self.large_copies_once(directions, COPIES))?;
        Ok((all - one).max(0.0) / (COPIES - 1) as f64)
    }

    /// Seconds that each of many copies costs beyond its bytes, while copies go both ways and each waits for
    /// an event and records one, as in a pipeline. The events that are waited for completed long ago. `large`
    /// is the time from one large copy to the next.
    fn copies_both_ways_latency(&self, large: f64) -> DriverResult<f64> {
        let bytes = MIDDLING.min(self.bytes / 4);
        let events = || (0..SLOTS).map(|_| Event::new(self.device)).collect::<DriverResult<Vec<_>>>();
        let events = [events()?, events()?];
        let ways = [(On::First, Direction::ToDevice), (On::Second, Direction::ToHost)];
        let pieces = |count: usize| {
            quickest(|| {
                self.time(|| {
                    for piece in 0..count {
                        let slot = piece % SLOTS;
                        for (way, (on, direction)) in ways.into_iter().enumerate() {
                            self.wait(on, &events[1 - way][slot])?;
                            self.copy(on, direction, bytes)?;
                        }
                        for (way, (on, _)) in ways.into_iter().enumerate() {
                            self.record_in(on, &events[way][slot])?;
                        }
                    }
                    Ok(())
                })
            })
        };
        let each = (pieces(MANY)? - pieces(MANY / 4)?) / (MANY - MANY / 4) as f64;
        let share = bytes as f64 / self.bytes as f64;
        Ok((each - large * share).max(0.0) / (1.0 - share))
    }

    fn large_copies_once(&self, directions: &[Direction], copies: usize) -> DriverResult<f64> {
        self.time(|| (0..copies).try_for_each(|_| self.enqueue_copies(directions, self.bytes)))
    }

    /// Enqueues a copy of so many bytes in each direction, at most those of a large one.
    pub(super) fn enqueue_copies(&self, directions: &[Direction], bytes: usize) -> DriverResult<()> {
        let mut ways = directions.iter().zip([On::First, On::Second]);
        ways.try_for_each(|(&direction, on)| self.copy(on, direction, bytes))
    }

    /// Leaves the memory to the devices for good, although this one can be waited for.
    pub(super) fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }

    /// Whether a stream cannot be waited for. All of them are, even if the first one fails.
    pub(super) fn is_lost(&self) -> bool {
        // The first wait may report the failure. If the second succeeds, nothing is in flight.
        let is_lost = |stream: &&Stream| stream.synchronize().is_err() && stream.synchronize().is_err();
        self.streams.iter().filter(is_lost).count() > 0
    }

    /// Seconds that the device takes for the operations of `work`, which is called many times while the
    /// device is still busy with something else, so that the device never waits for the host.
    fn behind_a_copy(&self, work: impl Fn() -> DriverResult<()>) -> DriverResult<f64> {
        let large = || self.copy(On::First, Direction::ToDevice, self.bytes);
        let alone = quickest(|| self.time(large))?;
        let with = quickest(|| {
            self.time(|| {
                large()?;
                (0..MANY).try_for_each(|_| work())
            })
        })?;
        Ok((with - alone).max(0.0) / MANY as f64)
    }

    /// Seconds that the host takes for a call that enqueues something, from one stream to another and back as
    /// in a pipeline. `event` is the time of a call for an event.
    fn call(&self, event: f64) -> DriverResult<f64> {
        let both = self.enqueuing(|| {
            self.copy(On::First, Direction::ToDevice, SMALL)?;
            self.hand_over(On::First, On::Second)?;
            self.copy(On::Second, Direction::ToHost, SMALL)?;
            self.hand_over(On::Second, On::First)
        })?;
        Ok((both / 2.0 - 2.0 * event).max(0.0))
    }

    /// Seconds that the host usually takes for `call`. This is not the least time, since a run is not as
    /// lucky each time.
    pub(super) fn enqueuing(&self, call: impl Fn() -> DriverResult<()>) -> DriverResult<f64> {
        usual(|| {
            let start = self.driver().clock();
            (0..MANY).try_for_each(|_| call())?;
            let end = self.driver().clock();
            self.streams.iter().try_for_each(Stream::synchronize)?;
            Ok(end.saturating_sub(start).as_secs_f64() / MANY as f64)
        })
    }

    /// Bytes that one thread copies in a second between pageable and page-locked memory, half of them each
    /// way. The data in pageable memory come from beyond the caches and go there, as they do in a long run.
    /// The simulated device's clock does not know single threads.
    fn thread_memcpy(&self) -> f64 {
        let mut ordinary = vec![1_u8; self.bytes];
        let data = ordinary.as_mut_ptr().expose_provenance();
        let pinned = self.pinned.each_ref().map(|core| core.ptr.as_ptr().expose_provenance());
        let slot = self.bytes.min(SLOT);
        let once = || {
            let start = Instant::now();
            for piece in (0..self.bytes).step_by(PIECE) {
                let bytes = PIECE.min(self.bytes - piece).min(slot - piece % slot);
                let outside = ptr::with_exposed_provenance_mut::<u8>(data + piece);
                let [from, to] = pinned.map(|start| ptr::with_exposed_provenance_mut(start + piece % slot));
                // SAFETY: pieces are within `bytes` and `slot`, which all three have, and their memory was
                // exposed and is live. Nothing else accesses it: the operations on the device were waited
                // for, and only one thread does this.
                unsafe {
                    copy_with(Way::Cached, to, outside, bytes);
                    copy_with(Way::PastCache, outside, from, bytes);
                }
            }
            2.0 * self.bytes as f64 / start.elapsed().as_secs_f64().max(1e-12)
        };
        numa::near(self.driver().node(), || {
            // The first copy finds the data in the caches.
            once();
            (0..TRIES).map(|_| once()).fold(0.0, f64::max)
        })
    }

    /// Bytes that all threads together copy in a second, from pageable to page-locked memory.
    fn host_memcpy(&self, workers: &'static Workers) -> DriverResult<f64> {
        let data = vec![1_u8; self.bytes];
        let seconds = quickest(|| {
            let start = self.driver().clock();
            // SAFETY: both have `bytes`, and nothing on the device is under way: all earlier operations were
            // waited for.
            unsafe { workers.copy(self.pinned[0].ptr.as_ptr(), data.as_ptr(), self.bytes, Way::Cached) };
            self.driver().host_copied(self.bytes);
            Ok(self.driver().clock().saturating_sub(start).as_secs_f64())
        })?;
        Ok(self.bytes as f64 / seconds.max(1e-12))
    }

    fn copy(&self, on: On, direction: Direction, bytes: usize) -> DriverResult<()> {
        let copy = self.copying(direction, bytes);
        // SAFETY: `bytes` are not more than each of the four has, which live until the stream has been waited
        // for; nobody else accesses them. Copies to the host go to the second page-locked block and those
        // from it come from the first, and so do copies on the device; each is on one stream at a time.
        unsafe { self.driver().enqueue(copy, self.stream(on).raw, TAG) }
    }

    pub(super) fn copying(&self, direction: Direction, bytes: usize) -> Command<'static> {
        let ([first, second], [from, to]) = (&self.on_device, &self.pinned);
        match direction {
            Direction::ToDevice => {
                Command::CopyToDevice { to: first.ptr, from: from.ptr.as_ptr().cast_const(), bytes }
            }
            Direction::ToHost => Command::CopyToHost { to: to.ptr.as_ptr(), from: second.ptr, bytes },
            Direction::OnDevice => Command::CopyOnDevice { to: second.ptr, from: first.ptr, bytes },
        }
    }

    fn fill(&self, on: On) -> DriverResult<()> {
        let fill = Command::Fill { to: self.on_device[0].ptr, pattern: &[0; 4], count: SMALL / 4 };
        // SAFETY: as in `copy`.
        unsafe { self.driver().enqueue(fill, self.stream(on).raw, TAG) }
    }

    fn record(&self, on: On) -> DriverResult<()> {
        self.record_in(on, &self.events[on as usize])
    }

    fn record_in(&self, on: On, event: &Event) -> DriverResult<()> {
        // SAFETY: the event is live, and the stream as long as `self`.
        unsafe { self.driver().enqueue(Command::Record(event.raw), self.stream(on).raw, TAG) }
    }

    fn wait(&self, on: On, event: &Event) -> DriverResult<()> {
        // SAFETY: as above.
        unsafe { self.driver().enqueue(Command::Wait(event.raw), self.stream(on).raw, TAG) }
    }

    /// Makes later operations on `to` wait for those on `from`.
    fn hand_over(&self, from: On, to: On) -> DriverResult<()> {
        self.record(from)?;
        self.wait(to, &self.events[from as usize])
    }

    fn signal(&self) -> DriverResult<()> {
        let signal = Command::Signal(Box::new(|| ()));
        // SAFETY: as in `record`; the signal is quick and calls nothing.
        unsafe { self.driver().enqueue(signal, self.stream(On::First).raw, TAG) }
    }

    fn host(&self) -> DriverResult<()> {
        let function = Command::Host { job: Box::new(|| ()), accesses: &[] };
        // SAFETY: as in `record`; the job accesses nothing.
        unsafe { self.driver().enqueue(function, self.stream(On::First).raw, TAG) }
    }
}

impl Drop for Rig<'_> {
    fn drop(&mut self) {
        if self.is_lost() || self.is_left.load(Ordering::Relaxed) {
            self.pinned.iter().for_each(PinnedCore::poison);
            return;
        }
        for memory in &mut self.on_device {
            // SAFETY: it is dropped here only, and not used afterwards.
            unsafe { ManuallyDrop::drop(memory) };
        }
    }
}

/// The median of several tries.
fn usual(time: impl Fn() -> DriverResult<f64>) -> DriverResult<f64> {
    let mut times = (0..TRIES).map(|_| time()).collect::<DriverResult<Vec<_>>>()?;
    times.sort_by(f64::total_cmp);
    Ok(times[TRIES / 2])
}

pub(super) fn quickest(time: impl Fn() -> DriverResult<f64>) -> DriverResult<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..TRIES {
        least = least.min(time()?);
    }
    Ok(least)
}

pub(super) fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default()
}
