//! [`Graph`]: operations that are launched together.

use std::fmt;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;

use super::stream::Stream;
use crate::base::error::{ErrorKind, Result, Site};
use crate::base::kernel::Grid;
use crate::device::Device;
use crate::device::checked::capture::{Captured, Capturing};
use crate::device::memory::{PinnedBuf, PinnedCore, release};
use crate::device::pending::uses::{Used, is_same};
use crate::device::pending::{Caller, Uses, caller};

use crate::driver::command::recording::Recording;
use crate::driver::{Bodies, Command, RawGraph};

/// Operations that were captured from streams, to be launched as one: a `cudaGraphExec_t`.
///
/// It keeps the buffers that it uses. Those in page-locked memory are lent to each launch anew, so that nobody has references to
/// what the device writes.
///
/// ```
/// use thalweg::{Device, DeviceBuf, PinnedBuf, Spec, Stream, blocks};
/// use thalweg_kernels::saxpy;
///
/// let device = Device::simulated(Spec::h200());
/// let (stream, saxpy) = (Stream::new(&device)?, saxpy::load(&device)?);
/// let mut x = PinnedBuf::from_slice(&device, &[1.0_f32; 100])?;
/// let mut y = PinnedBuf::<f32>::zeroed(&device, 100)?;
/// let mut on_device = [DeviceBuf::zeroed(&device, 100)?, DeviceBuf::zeroed(&device, 100)?];
/// let [dx, dy] = &mut on_device;
///
/// let graph = stream.capture(|stream| {
///     stream.upload(&x, &mut *dx)?;
///     saxpy.launch(stream.config(blocks(100, 128), 128, 0), 100, 2.0, &*dx, &mut *dy)?;
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
    /// Until it is dropped.
    raw: Option<RawGraph>,
    nodes: Recording,
    bodies: Vec<(Box<dyn Bodies>, Grid)>,
    /// What all of it uses.
    used: Vec<Used>,
    /// Those of it that must be lent, and who uses them first.
    host: Vec<(Used, Caller)>,
    /// Its launches.
    launches: Uses,
}

impl Stream {
    /// Captures what `body` enqueues here as a graph, in place of carrying it out: `cudaStreamBeginCapture` and
    /// `cudaStreamEndCapture`.
    ///
    /// Another stream joins when it [waits](Self::wait) for an event that was [recorded](Self::record) here, and leaves in the
    /// end. So the graph has as much order as the streams have.
    ///
    /// # Errors
    /// Those of `body`, and [`ErrorKind::NotInGraph`] of operations that a graph cannot have; the driver refuses.
    #[track_caller]
    pub fn capture(&self, body: impl FnOnce(&Self) -> Result<()>) -> Result<Graph> {
        let (at, into) = (caller("capture"), Arc::new(Mutex::new(Captured::default())));
        at.located(|| {
            self.core.check_thread()?;
            self.device().may_wait(None)?;
            let mut state = self.core.state();
            let capturing = state.capturing();
            if capturing.is_some() {
                return Err(ErrorKind::Capturing { what: "captured again" }.into());
            }
            *capturing = Some(Capturing { into: Arc::clone(&into), after: Vec::new() });
            Ok(())
        })?;
        // However `body` ends: what is enqueued afterwards is carried out.
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
    /// What was captured. Events that were recorded meanwhile still know of it, but not what it has.
    fn captured(&self) -> Captured {
        let over = Captured { done: true, ..Captured::default() };
        std::mem::replace(&mut *Captured::locked(self.0), over)
    }
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        // Not under the lock: buffers wait when they are dropped.
        drop(self.captured());
    }
}

impl Graph {
    fn new(device: &Device, captured: Captured) -> Result<Self> {
        let Captured { nodes, bodies, memory, .. } = captured;
        // SAFETY: the functions live as long as the device.
        let raw = unsafe { device.driver().build_graph(&nodes) }?;
        let mut host: Vec<(Used, Caller)> = Vec::new();
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
            launches: Uses::default(),
        })
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Launches it on a stream: all of it comes after what was enqueued there so far, and before what is enqueued there from now
    /// on.
    ///
    /// # Errors
    /// It uses page-locked memory, which must be lent ([`launch_with`](Self::launch_with)); it is of another device; nothing
    /// orders it with an earlier operation on the same memory; the driver refuses.
    #[track_caller]
    pub fn launch(&self, stream: &Stream) -> Result<()> {
        let at = caller("a graph");
        at.located(|| self.launch_lent(stream, &[], at))
    }

    /// As [`launch`](Self::launch), with the page-locked memory that the graph uses: `&x` of what it reads, `&mut y` of what it
    /// writes, in a tuple of up to six.
    ///
    /// # Errors
    /// As [`launch`](Self::launch), and [`ErrorKind::NotLent`] if something is missing.
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
            let is_lent = lent.iter().any(|Loan { core, writable }| {
                std::ptr::addr_eq(Arc::as_ptr(core), Arc::as_ptr(&used.memory)) && (*writable || !used.write)
            });
            if !is_lent {
                let place = by.place();
                let site = place.site.unwrap_or(Site { file: "", line: 0, column: 0 });
                let kind = ErrorKind::NotLent { operation: by.what, site, writes: used.write };
                return Err(crate::base::error::Error::new(kind).at(at.place()));
            }
        }
        if let Some(poisoned) = self.used.iter().find(|used| used.memory.is_poisoned()) {
            let host = if poisoned.memory.is_on_host() { "PinnedBuf" } else { "DeviceBuf" };
            return Err(ErrorKind::Poisoned { host }.into());
        }
        let bodies = if self.device.is_simulated() {
            self.bodies.iter().map(|(bodies, grid)| bodies.body(*grid)).collect()
        } else {
            Vec::new()
        };
        let Some(graph) = &self.raw else { return Err(ErrorKind::Skipped.into()) };
        let launch = Command::Graph { graph, nodes: &self.nodes, bodies };
        // SAFETY: the memory is that of the nodes, which was checked when they were captured. The graph stays as long as a launch
        // of it is pending.
        unsafe { stream.enqueue(at, &self.used, launch) }?;
        stream.core.note_last(&self.launches, at);
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // Its memory is given up now, though launches may be pending and this be the last handle: memory waits for them itself, and
        // is left to the device where they cannot be waited for. So memory never waits for the thread for callbacks to come to the
        // graph. Nobody launches the graph any more, and so nobody minds if the memory goes before the graph does.
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

/// Page-locked memory that is lent to a graph's launch: `&PinnedBuf<T>`, `&mut PinnedBuf<T>`, or a tuple of them.
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
