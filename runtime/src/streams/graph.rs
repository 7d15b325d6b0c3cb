//! [`Graph`]: operations that are launched together.

use std::fmt;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use super::stream::Stream;
use crate::base::error::{Detail, Result, Site};
use crate::base::threads::Grid;
use crate::device::Device;
use crate::device::checked::capture::{Captured, Capturing};
use crate::device::memory::{PinnedBuf, PinnedCore, release};
use crate::device::pending::uses::{Kept, Used, is_same};
use crate::device::pending::{Caller, SharedFaults, Uses, caller};

#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::driver::command::recording::Recording;
use crate::driver::{Bodies, Command, RawGraph};

/// Operations that were captured from streams and are launched as one: a `cudaGraphExec_t`.
///
/// It keeps the buffers that it uses. Those in page-locked memory are lent anew to each launch, so that no
/// references exist to memory that the device writes.
///
/// ```
/// use thalweg::kernel::blocks;
/// use thalweg::sim::Simulation;
/// use thalweg::streams::Stream;
/// use thalweg::{Device, DeviceBuf, PinnedBuf};
/// use thalweg_kernels::saxpy;
///
/// let device = Device::simulated(Simulation::h200());
/// let (stream, saxpy) = (Stream::new(&device)?, saxpy::load(&device)?);
/// let mut x = PinnedBuf::from_slice(&device, &[1.0_f32; 100])?;
/// let mut y = PinnedBuf::<f32>::zeroed(&device, 100)?;
/// let mut on_device = [DeviceBuf::zeroed(&device, 100)?, DeviceBuf::zeroed(&device, 100)?];
/// let [dx, dy] = &mut on_device;
///
/// let graph = stream.capture(|stream| {
///     stream.upload(&x, &mut *dx)?;
///     saxpy.launch(stream.config(blocks(100, 128), 128, 0), 2.0, &*dx, &mut *dy)?;
///     stream.download(&*dy, &mut y)
/// })?;
/// for frame in 1..=3 {
///     x.fill(frame as f32);
///     graph.launch_with(&stream, (&x, &mut y))?;
/// }
/// assert_eq!(y[..], [12.0; 100]);
/// # Ok::<(), thalweg::Error>(())
/// ```
pub struct Graph {
    device: Device,
    /// `None` once the graph is dropped.
    raw: Option<RawGraph>,
    nodes: Recording,
    bodies: Vec<(Box<dyn Bodies>, Grid)>,
    /// The memory that its operations use.
    used: Vec<Kept>,
    /// The parts of `used` that must be lent, and the first user of each.
    host: Vec<(Kept, Caller)>,
    /// The kernels in Rust that it launches.
    faults: Vec<Arc<SharedFaults>>,
    /// The launches of the graph.
    launches: Uses,
}

impl Stream {
    /// Captures the operations that `body` enqueues here as a graph instead of running them:
    /// `cudaStreamBeginCapture` and `cudaStreamEndCapture`.
    ///
    /// Another stream joins when it [waits](Self::wait) for an event that was [recorded](Self::record) here,
    /// and leaves at the end. The graph's order is that of its streams.
    ///
    /// # Errors
    /// The errors of `body`; [`ErrorKind::Misuse`] for operations that a graph cannot contain; the driver
    /// refuses.
    #[track_caller]
    pub fn capture(&self, body: impl FnOnce(&Self) -> Result<()>) -> Result<Graph> {
        let (at, into) = (caller("capture"), Arc::new(Mutex::new(Captured::default())));
        at.located(|| {
            self.core.check_thread()?;
            self.device().may_wait()?;
            let mut state = self.core.state();
            let capturing = state.capturing();
            if capturing.is_some() {
                return Err(Detail::Capturing { what: "captured again" }.into());
            }
            *capturing = Some(Capturing { into: Arc::clone(&into), after: Vec::new() });
            Ok(())
        })?;
        // However `body` ends, later operations are carried out.
        let done = Done(&into);
        let outcome = body(self);
        let captured = done.captured();
        drop(done);
        outcome?;
        at.located(|| Graph::new(self.device(), captured))
    }
}

/// Ends a capture.
struct Done<'a>(&'a Mutex<Captured>);

impl Done<'_> {
    /// The captured operations. Events that were recorded meanwhile still refer to the capture, but not to
    /// its contents.
    fn captured(&self) -> Captured {
        let over = Captured { done: true, ..Captured::default() };
        std::mem::replace(&mut *Captured::locked(self.0), over)
    }
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        // Dropped outside of the lock, because buffers wait when they are dropped.
        drop(self.captured());
    }
}

impl Graph {
    fn new(device: &Device, captured: Captured) -> Result<Self> {
        let Captured { nodes, bodies, memory, faults, .. } = captured;
        // SAFETY: the functions live as long as the device.
        let raw = unsafe { device.driver().build_graph(&nodes, false) }?;
        let mut host: Vec<(Kept, Caller)> = Vec::new();
        let mut used = Vec::new();
        for node in memory {
            for its in node.used {
                if its.memory.is_on_host() {
                    match host.iter_mut().find(|(known, _)| is_same(&known.memory, &its.memory)) {
                        Some((known, _)) => known.write |= its.write,
                        None => host.push((its.clone(), node.caller)),
                    }
                }
                used.push(its);
            }
        }
        Ok(Self {
            device: device.clone(),
            raw: Some(raw),
            nodes,
            bodies,
            used,
            host,
            faults,
            launches: Uses::default(),
        })
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no operations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Launches the graph on a stream, after everything enqueued there so far and before everything enqueued
    /// there from now on.
    ///
    /// # Errors
    /// The graph uses page-locked memory, which must be lent ([`launch_with`](Self::launch_with)), or belongs
    /// to another device ([`ErrorKind::Misuse`](crate::ErrorKind::Misuse)); nothing orders it with an earlier
    /// operation on the same memory ([`ErrorKind::Race`](crate::ErrorKind::Race)); its memory was left to a
    /// device that does not answer ([`ErrorKind::DeviceLost`](crate::ErrorKind::DeviceLost)); the driver
    /// refuses ([`ErrorKind::Driver`](crate::ErrorKind::Driver)).
    #[track_caller]
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        let at = caller("a graph");
        at.located(|| self.launch_lent(stream, &[], at))
    }

    /// Like [`launch`](Self::launch), with the page-locked memory that the graph uses: `&x` for memory that
    /// it reads, `&mut y` for memory that it writes, in a tuple of up to six.
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch), and [`ErrorKind::Misuse`] if a buffer is missing.
    #[track_caller]
    pub fn launch_with(&self, stream: &Stream, lent: impl Lent) -> Result<()> {
        let at = caller("a graph");
        let mut all = Vec::new();
        lent.lend(&mut all);
        at.located(|| self.launch_lent(stream, &all, at))
    }

    fn launch_lent(&self, stream: &Stream, lent: &[Loan], at: Caller) -> Result<()> {
        stream.device().check_stream("Graph", &self.device)?;
        for (used, by) in &self.host {
            let its = lent
                .iter()
                .filter(|loan| std::ptr::addr_eq(Arc::as_ptr(&loan.core), Arc::as_ptr(&used.memory)));
            let writable = its.map(|loan| loan.writable).max();
            if writable.is_none_or(|writable| used.write && !writable) {
                let site = by.place().site.unwrap_or(Site { file: "", line: 0, column: 0 });
                let all = self.host.iter().map(|(used, _)| used.write).collect();
                let (writes, is_lent) = (used.write, writable.is_some());
                return Err(Detail::NotLent { operation: by.what, site, writes, is_lent, all }.into());
            }
        }
        let used = self.used.iter().map(Kept::used).collect::<Vec<_>>();
        used.iter().try_for_each(Used::check)?;
        let bodies = if self.device.is_on_host() {
            self.bodies.iter().map(|(bodies, grid)| bodies.body(*grid)).collect()
        } else {
            Vec::new()
        };
        let Some(graph) = &self.raw else { return Err(Detail::Skipped.into()) };
        let launch = Command::Graph { graph, nodes: &self.nodes, bodies };
        // SAFETY: the memory is that of the nodes, which was checked when they were captured. The graph stays
        // as long as a launch of it is pending.
        unsafe { stream.enqueue_kernels(at, &used, launch, &self.faults) }?;
        stream.core.note_last(&self.launches, at);
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // Its memory is given up now, even while launches are pending and if this is the last handle: memory
        // waits for them itself, and is left to the device where they cannot be waited for. So memory never
        // waits until the thread for callbacks gets to the graph. The graph is not launched again, so its
        // memory may go first.
        let (launches, raw) = (std::mem::take(&mut self.launches), self.raw.take());
        let Some(raw) = raw else { return };
        release(&self.device, move |driver| {
            if launches.is_used() && !launches.settle(false) {
                // It cannot be waited for, so it stays.
                return;
            }
            // SAFETY: destroyed here only, and no launch of it is under way.
            let _ = unsafe { driver.destroy_graph(&raw) };
        });
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("device", &self.device)
            .field("operations", &self.len())
            .finish_non_exhaustive()
    }
}

/// Page-locked memory that is lent to a graph's launch: `&PinnedBuf<T>`, `&mut PinnedBuf<T>`, or a tuple of
/// them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be lent to a graph",
    label = "expected `&PinnedBuf<T>`, `&mut PinnedBuf<T>` or a tuple of them"
)]
pub trait Lent: sealed::Sealed {
    #[doc(hidden)]
    fn lend(self, to: &mut Vec<Loan>);
}

/// A buffer that is lent.
#[doc(hidden)]
pub struct Loan {
    core: Arc<PinnedCore>,
    writable: bool,
}

impl fmt::Debug for Loan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loan").finish_non_exhaustive()
    }
}

impl<T: Pod> Lent for &PinnedBuf<T> {
    fn lend(self, to: &mut Vec<Loan>) {
        to.push(Loan { core: Arc::clone(self.core()), writable: false });
    }
}

impl<T: Pod> Lent for &mut PinnedBuf<T> {
    fn lend(self, to: &mut Vec<Loan>) {
        to.push(Loan { core: Arc::clone(self.core()), writable: true });
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        #[allow(non_snake_case, reason = "a variable is called as its type")]
        impl<$($name: Lent),*> Lent for ($($name,)*) {
            fn lend(self, to: &mut Vec<Loan>) {
                let ($($name,)*) = self;
                $($name.lend(to);)*
            }
        }
        impl<$($name: Lent),*> sealed::Sealed for ($($name,)*) {}
    )*};
}
tuples!((A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));

mod sealed {
    use super::*;

    pub trait Sealed {}
    impl<T: Pod> Sealed for &PinnedBuf<T> {}
    impl<T: Pod> Sealed for &mut PinnedBuf<T> {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::memory::ToDevice;
    use super::*;
    use crate::base::in_rust::RustSource;
    use crate::device::faults::Faults;
    use crate::device::memory::DeviceBuf;
    use crate::driver::FaultWord;
    use crate::sim::Simulation;

    /// A kernel whose threads leave their faults there.
    fn kernel(words: &'static [AtomicU32; 4]) -> Arc<SharedFaults> {
        static SOURCE: RustSource = RustSource::none("k");
        let word = FaultWord::new(words.as_ptr().expose_provenance(), 0);
        Arc::new(SharedFaults::new(Faults::new("k", &SOURCE, word, false)))
    }

    /// An operation on this memory, which stands for a launch of the kernel.
    fn launch(stream: &Stream, kernel: &Arc<SharedFaults>, memory: &mut DeviceBuf<u32>) -> Result<()> {
        let to = memory.part();
        let used = [to.used::<u32>(stream.device(), true)?];
        let fill = Command::Fill { to: to.ptr, pattern: &[0; 4], count: to.len };
        // SAFETY: the command fills the memory that was checked, which waits for it when it is dropped.
        unsafe { stream.enqueue_kernels(caller("fill"), &used, fill, std::slice::from_ref(kernel)) }
    }

    #[test]
    fn a_stream_that_goes_is_asked_for_faults_and_leaves_no_launches_behind() -> Result<()> {
        static WORDS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
        let (kernel, device) = (kernel(&WORDS), Device::simulated(Simulation::default()));
        device.registry().watch_faults(Arc::clone(&kernel));
        let [stream, other] = [Stream::new(&device)?, Stream::new(&device)?];
        let mut memory = DeviceBuf::zeroed(&device, 4)?;
        launch(&stream, &kernel, &mut memory)?;
        // Nothing orders it after the first, so it is refused.
        assert!(launch(&other, &kernel, &mut memory).is_err());
        WORDS[0].store(7, Ordering::Relaxed);
        let progress = [&stream, &other].map(|stream| Arc::downgrade(&stream.core.progress));
        drop((stream, other));
        let said = memory.to_vec().map_err(|error| error.to_string());
        assert!(said.is_err_and(|said| said.contains("kernel `k` failed")));
        drop(memory);
        assert!(progress.iter().all(|progress| progress.upgrade().is_none()), "they keep their device");
        Ok(())
    }

    #[test]
    fn the_stream_that_launches_a_graph_is_told_of_its_kernels_faults() -> Result<()> {
        static WORDS: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];
        let (kernel, device) = (kernel(&WORDS), Device::simulated(Simulation::default()));
        let (captured, launching) = (Stream::new(&device)?, Stream::new(&device)?);
        let mut memory = DeviceBuf::zeroed(&device, 4)?;
        let graph = captured.capture(|stream| launch(stream, &kernel, &mut memory))?;
        graph.launch(&launching)?;
        WORDS[0].store(7, Ordering::Relaxed);
        // It has launched nothing.
        captured.synchronize()?;
        let said = launching.synchronize().map_err(|error| error.to_string());
        assert!(said.is_err_and(|said| said.contains("kernel `k` failed")));
        launching.synchronize()
    }
}
