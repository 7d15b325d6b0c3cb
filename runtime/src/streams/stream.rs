//! [`Stream`]: a stream that a program uses directly.

use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::thread;

use bytemuck::Pod;

use super::event::Event;
use super::memory::{FromDevice, ToDevice};
use crate::backends::cuda::{LEGACY_STREAM, PER_THREAD_STREAM};
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Result};
use crate::base::plan::Priority;
use crate::device::Device;
use crate::device::checked::core::{Keep, StreamCore};
use crate::device::pending::uses::Used;
use crate::device::pending::{Caller, Kind, SharedFaults, caller};
use crate::driver::{Command, RawStream};

/// A stream: operations that a device carries out one after another, in the order in which they are enqueued.
///
/// Operations of different streams may run at the same time, unless an [`Event`] orders them. A call that
/// enqueues an operation returns before the operation is complete. The [module's page](crate::streams) has an
/// example with two streams and says what is checked.
///
/// ```
/// use thalweg::kernel::blocks;
/// use thalweg::sim::Simulation;
/// use thalweg::streams::Stream;
/// use thalweg::{Device, DeviceBuf, ErrorKind, PinnedBuf};
/// use thalweg_kernels::saxpy;
///
/// let device = Device::simulated(Simulation::h200());
/// let (stream, saxpy) = (Stream::new(&device)?, saxpy::load(&device)?);
/// let x = PinnedBuf::from_slice(&device, &[1.0_f32; 1000])?;
/// let mut y = PinnedBuf::from_slice(&device, &[2.0_f32; 1000])?;
/// let (mut dx, mut dy) = (DeviceBuf::zeroed(&device, 1000)?, DeviceBuf::zeroed(&device, 1000)?);
///
/// stream.upload(&x, &mut dx)?;
/// stream.upload(&y, &mut dy)?;
/// saxpy.launch(stream.config(blocks(1000, 256), 256, 0), 3.0, &dx, &mut dy)?;
/// stream.download(&dy, &mut y)?;
/// assert_eq!(y.wait()?, [5.0; 1000]); // once the copy is over
///
/// // Both sides of a copy are as long as each other.
/// let refused = stream.upload(x.slice(..999)?, &mut dx).unwrap_err();
/// assert!(matches!(refused.kind(), ErrorKind::Shape(_)));
/// # Ok::<(), thalweg::Error>(())
/// ```
///
/// A stream can be shared between threads, and a clone is the same stream. Dropping the last handle waits for
/// the stream's operations.
///
/// In a function of [`host`](Self::host) every operation is refused
/// ([`ErrorKind::Driver`](crate::ErrorKind::Driver)), and so is an operation on another thread's
/// [per-thread stream](Self::per_thread) ([`ErrorKind::Misuse`](crate::ErrorKind::Misuse)).
#[derive(Clone)]
pub struct Stream {
    pub(super) core: Arc<StreamCore>,
    pub(super) checked: bool,
}

impl Stream {
    /// A stream of default priority that does not synchronise with the null stream: `cudaStreamNonBlocking`.
    ///
    /// # Errors
    /// The driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn new(device: &Device) -> Result<Self> {
        Self::made("Stream::new", device, Kind::NonBlocking, Priority::Default)
    }

    /// A non-blocking stream whose kernels go before those of less urgent streams, and after those of more
    /// urgent ones: `cudaStreamCreateWithPriority`. A priority outside of the range [`Device::priorities`]
    /// becomes the nearest in it.
    ///
    /// ```
    /// use thalweg::sim::Simulation;
    /// use thalweg::streams::{Priority, Stream};
    /// use thalweg::Device;
    ///
    /// let device = Device::simulated(Simulation::h200());
    /// assert_eq!(device.priorities(), -5..=0);
    /// assert_eq!(Stream::with_priority(&device, Priority::High)?.priority(), -5);
    /// assert_eq!(Stream::with_priority(&device, Priority::Level(-9))?.priority(), -5);
    /// assert_eq!(Stream::new(&device)?.priority(), 0);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn with_priority(device: &Device, priority: Priority) -> Result<Self> {
        Self::made("Stream::with_priority", device, Kind::NonBlocking, priority)
    }

    /// A stream that waits for work on the null stream, and for which the null stream waits:
    /// `cudaStreamCreate`.
    ///
    /// # Errors
    /// The driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn blocking(device: &Device) -> Result<Self> {
        Self::made("Stream::blocking", device, Kind::Blocking, Priority::Default)
    }

    /// The device's null stream, the legacy default stream, to which `<<<grid, block>>>` without a stream
    /// launches.
    ///
    /// Operations here wait for all blocking streams, and all blocking streams wait for them.
    ///
    /// # Errors
    /// The driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn null(device: &Device) -> Result<Self> {
        Self::shared("Stream::null", device, Kind::Null)
    }

    /// The calling thread's own default stream: `cudaStreamPerThread`. It is a blocking stream, and other
    /// threads cannot use it.
    ///
    /// # Errors
    /// The driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn per_thread(device: &Device) -> Result<Self> {
        Self::shared("Stream::per_thread", device, Kind::PerThread(thread::current().id()))
    }

    /// A newly created stream.
    #[track_caller]
    fn made(what: &'static str, device: &Device, kind: Kind, priority: Priority) -> Result<Self> {
        caller(what).located(|| Ok(Self::of(StreamCore::new(device, kind, priority)?)))
    }

    /// A stream that exists once for a device or a thread.
    #[track_caller]
    fn shared(what: &'static str, device: &Device, kind: Kind) -> Result<Self> {
        let make = || StreamCore::new(device, kind, Priority::Default);
        caller(what).located(|| device.registry().only(kind, make).map(Self::of))
    }

    /// Another library's stream on the same GPU, valid while `keep` exists: cudarc's `CudaStream`, PyTorch's
    /// current stream.
    ///
    /// This crate does not see what that library enqueues; it knows only the stream's own order.
    /// [`record`](Self::record), [`wait`](Self::wait) and [`wait_stream`](Self::wait_stream) order it with
    /// other streams. [`note_read`](Self::note_read) and [`note_write`](Self::note_write) declare that it
    /// uses a buffer of this crate's. Dropping the last handle waits for the stream and does not destroy it.
    ///
    /// Handles of default streams give the existing streams, and nothing is kept: null and `CU_STREAM_LEGACY`
    /// give the [null stream](Self::null), `CU_STREAM_PER_THREAD` the [calling thread's](Self::per_thread).
    ///
    /// # Errors
    /// The device is no GPU ([`ErrorKind::Misuse`]).
    ///
    /// # Safety
    /// `raw` is a `CUstream` of the device's context (that of [`Device::cuda`](Device::cuda) is the primary
    /// one, which CUDA's runtime and cudarc use too), or one of those handles. It stays valid until `keep` is
    /// dropped, and nobody else captures it into a graph while something is enqueued here.
    #[track_caller]
    pub unsafe fn from_raw(device: &Device, raw: *mut c_void, keep: impl Any + Send + Sync) -> Result<Self> {
        if !device.is_gpu() {
            return caller("Stream::from_raw").located(|| Err(Detail::NotAGpu.into()));
        }
        let raw = RawStream(raw.expose_provenance() as u64);
        match raw.0 {
            0 | LEGACY_STREAM => return Self::null(device),
            PER_THREAD_STREAM => return Self::per_thread(device),
            _ => {}
        }
        Ok(Self::of(StreamCore::lent(device, raw, Keep(Box::new(keep)))))
    }

    /// The stream as a `CUstream`, for other libraries; `None` on the CPU and the simulated device.
    /// Operations that they enqueue follow the stream's order; declare the buffers that they use with
    /// [`note_write`](Self::note_write).
    pub fn raw(&self) -> Option<*mut c_void> {
        let raw = std::ptr::with_exposed_provenance_mut(self.core.raw.0 as usize);
        self.device().is_gpu().then_some(raw)
    }

    /// Declares that work which other libraries have enqueued here so far reads a buffer. This crate then
    /// waits for it as for any operation here: before the buffer is freed, and before it is written. Call
    /// this before the stream is made to wait for anything else.
    ///
    /// # Errors
    /// Nothing orders the work with an earlier operation that writes the buffer ([`ErrorKind::Race`]): it
    /// goes on and is waited for, but may have read wrong data. A run has the buffer ([`ErrorKind::Misuse`]):
    /// the stream was waited for.
    #[track_caller]
    pub fn note_read<T: Pod>(&self, buffer: impl FromDevice<T>) -> Result<()> {
        let at = caller("another library");
        at.located(|| {
            let used = buffer.part().used::<T>(self.device(), false)?;
            self.core.note_others(at, &used, self.checked)
        })
    }

    /// Declares that work which other libraries have enqueued here so far writes a buffer, and may read it.
    ///
    /// # Errors
    /// Those of [`note_read`](Self::note_read), here for any earlier operation on the buffer.
    #[track_caller]
    pub fn note_write<T: Pod>(&self, buffer: impl ToDevice<T>) -> Result<()> {
        let at = caller("another library");
        at.located(|| {
            let used = buffer.part().used::<T>(self.device(), true)?;
            self.core.note_others(at, &used, self.checked)
        })
    }

    fn of(core: Arc<StreamCore>) -> Self {
        Self { core, checked: true }
    }

    /// The stream's device.
    pub fn device(&self) -> &Device {
        &self.core.device
    }

    /// The priority as CUDA counts it: a lower number is more urgent.
    pub fn priority(&self) -> i32 {
        self.core.level
    }

    /// The same stream, with its operations no longer checked for races.
    ///
    /// Bounds of buffers are still checked, and memory still stays while operations may use it. The simulated
    /// device reports races even of unchecked operations, so exploring the program finds them.
    ///
    /// # Safety
    /// No operation enqueued through it runs at the same time as another one on the same bytes if one of the
    /// two writes.
    pub unsafe fn unchecked(&self) -> Self {
        Self { core: Arc::clone(&self.core), checked: false }
    }

    /// Makes the event stand for everything enqueued here so far: `cudaEventRecord`.
    ///
    /// # Errors
    /// The event is of another device ([`ErrorKind::Misuse`]), or the driver refuses ([`ErrorKind::Driver`]).
    #[track_caller]
    pub fn record(&self, event: &Event) -> Result<()> {
        let at = caller("record");
        at.located(|| event.record(&self.core, at))
    }

    /// Makes everything enqueued here from now on wait for the event: `cudaStreamWaitEvent`. The host does
    /// not wait. The event may be another GPU's, or that of another simulated device of the same machine.
    ///
    /// # Errors
    /// Those of [`record`](Self::record).
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<()> {
        let at = caller("wait");
        at.located(|| event.wait(&self.core, at))
    }

    /// Makes everything enqueued here from now on wait for everything on the other stream: PyTorch's
    /// `wait_stream`. That stream may be of another device, as in [`wait`](Self::wait).
    ///
    /// ```
    /// use thalweg::sim::Simulation;
    /// use thalweg::streams::Stream;
    /// use thalweg::{Device, DeviceBuf, ErrorKind};
    ///
    /// let device = Device::simulated(Simulation::h200());
    /// let (first, second) = (Stream::new(&device)?, Stream::new(&device)?);
    /// let mut x = DeviceBuf::<f32>::zeroed(&device, 100)?;
    /// first.fill(&mut x, 1.0)?;
    /// assert!(matches!(second.fill(&mut x, 2.0).unwrap_err().kind(), ErrorKind::Race(_)));
    /// second.wait_stream(&first)?;
    /// second.fill(&mut x, 2.0)?;
    /// assert_eq!(x.to_vec()?, [2.0; 100]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`record`](Self::record).
    #[track_caller]
    pub fn wait_stream(&self, other: &Self) -> Result<()> {
        let at = caller("wait_stream");
        at.located(|| {
            let event = Event::new(other.device())?;
            event.record(&other.core, caller("record"))?;
            event.wait(&self.core, at)
        })
    }

    /// Whether everything enqueued so far is complete: `cudaStreamQuery`.
    ///
    /// # Errors
    /// An operation has failed.
    #[track_caller]
    pub fn query(&self) -> Result<bool> {
        self.device().driver().poll();
        caller("query").located(|| self.core.query())
    }

    /// Waits on the host until everything enqueued so far is complete and the callbacks of
    /// [`then`](Self::then) have returned: `cudaStreamSynchronize`.
    ///
    /// # Errors
    /// Something has failed since the last synchronisation, on the device or in a callback; or the calling
    /// thread may not wait, because it runs a function of [`host`](Self::host).
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        caller("synchronize").located(|| self.core.synchronize())
    }

    /// # Safety
    /// Those of [`StreamCore::enqueue`].
    pub(super) unsafe fn enqueue(
        &self,
        caller: Caller,
        used: &[Used<'_>],
        command: Command<'_>,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.enqueue_kernels(caller, used, command, &[]) }
    }

    /// Enqueues a command that launches these kernels in Rust.
    ///
    /// # Safety
    /// Those of [`StreamCore::enqueue`].
    pub(super) unsafe fn enqueue_kernels(
        &self,
        caller: Caller,
        used: &[Used<'_>],
        command: Command<'_>,
        kernels: &[Arc<SharedFaults>],
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { self.core.enqueue(caller, used, self.checked, command, kernels) }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("device", self.device())
            .field("kind", &self.core.kind)
            .field("priority", &self.core.level)
            .field("checked", &self.checked)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{MachineModel, Simulation};
    use crate::{DeviceBuf, PinnedBuf};

    /// The race of two devices that fill the same page-locked memory.
    fn race_of(devices: [&Device; 2]) -> String {
        let [first, second] = devices.map(|device| Stream::new(device).expect("a stream"));
        let [mut x, y] = devices.map(|device| DeviceBuf::<f32>::zeroed(device, 100).expect("memory"));
        let mut host = PinnedBuf::<f32>::zeroed(devices[0], 100).expect("memory");
        first.upload(&host, &mut x).expect("a copy");
        let error = second.download(&y, &mut host).unwrap_err();
        assert!(error.to_string().contains("\n  in operation `download`"), "{error}");
        let text = error.kind().to_string();
        let mut lines = text.splitn(3, '\n');
        let first = "a race: `download` writes memory that `upload` reads, and nothing orders them";
        assert_eq!(lines.next(), Some(first));
        assert!(lines.next().is_some_and(|line| line.starts_with("  the earlier one is at ")), "{text}");
        lines.next().unwrap_or_default().to_owned()
    }

    #[test]
    fn a_race_of_two_devices_says_how_to_order_them() {
        let devices = Device::simulated_machine(MachineModel::h200(2));
        assert_eq!(
            race_of([&devices[0]; 2]),
            "  help: let the later one's stream wait for the earlier one's before,\n    `later.wait_stream(&earlier)?`, or `later.wait(&event)?` for an event that\n    was recorded right after the earlier one"
        );
        assert_eq!(
            race_of([&devices[0], &devices[1]]),
            "  help: they are on two devices: let the later one's stream wait for the earlier one's before,\n    \
             `later.wait_stream(&earlier)?`, or `later.wait(&event)?` for an event that\n    was recorded right after the earlier one"
        );
        assert_eq!(
            race_of([&devices[0], &Device::simulated(Simulation::h200())]),
            "  help: they are on two devices, whose streams cannot wait for each other:\n    \
             wait on the host before, `earlier.synchronize()?`"
        );
    }
}
