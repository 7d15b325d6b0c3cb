//! [`Device`]: the handle of a GPU, of the CPU, or of the simulated device.

use std::fmt;
use std::mem::discriminant;
use std::sync::{Arc, OnceLock};

use super::pending::{Callers, Owner, Registry};
use super::shared::Shared;
#[cfg(doc)]
use crate::base::error::ErrorKind;
use crate::base::error::{Detail, Result};
use crate::base::fork;
use crate::base::model::DeviceModel;
use crate::driver::{Driver, Info, Kind, Link};

/// A GPU, the CPU, or the simulated device. A clone is cheap and names the same device.
///
/// ```
/// use thalweg::sim::Simulation;
/// use thalweg::Device;
///
/// let device = Device::simulated(Simulation::h200());
/// assert!(device.is_simulated());
/// println!("{device}");
/// ```
#[derive(Clone)]
pub struct Device {
    pub(super) shared: Arc<Shared>,
}

impl Device {
    /// The device's name, such as `NVIDIA H200`, `AMD EPYC 9654` or `simulated H200`.
    pub fn name(&self) -> &str {
        &self.info().name
    }

    /// Bytes of device memory.
    pub fn memory(&self) -> u64 {
        self.info().memory
    }

    /// Bytes of device memory that are free now.
    ///
    /// # Errors
    /// [`ErrorKind::Driver`] if the driver does not answer.
    pub fn free_memory(&self) -> Result<u64> {
        Ok(self.driver().free_memory()?)
    }

    /// Compute capability, such as `(9, 0)` for Hopper.
    pub fn compute_capability(&self) -> (u32, u32) {
        self.info().compute_capability
    }

    /// A GPU's streaming multiprocessors, or the threads of a [CPU](Self::cpu): each runs a block, or several. A kernel whose threads go on to more data with [`of_grid`](crate::kernel::BlockThread::of_grid)
    /// takes some blocks for each, such as a pipeline's `param blocks: u32` for its `<<<blocks, 256>>>`.
    pub fn multiprocessors(&self) -> u32 {
        match self.info().kind {
            Kind::Cpu { threads } => u32::try_from(threads).unwrap_or(u32::MAX),
            Kind::Gpu | Kind::Simulated => self.info().multiprocessors.max(1),
        }
    }

    /// Whether this is the simulated device.
    pub fn is_simulated(&self) -> bool {
        self.info().kind == Kind::Simulated
    }

    /// Whether this is the processor, as a device ([`Device::cpu`]).
    pub fn is_cpu(&self) -> bool {
        matches!(self.info().kind, Kind::Cpu { .. })
    }

    /// Whether both are GPUs, or both are of another kind.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        discriminant(&self.info().kind) == discriminant(&other.info().kind)
    }

    pub(crate) fn is_gpu(&self) -> bool {
        self.info().kind == Kind::Gpu
    }

    /// Whether kernels run on the host, as host bodies.
    pub(crate) fn is_on_host(&self) -> bool {
        self.info().kind.is_on_host()
    }

    /// Whether `other` is the same device.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Refuses an object that was made for `its` device, unless that is this one.
    #[inline]
    pub(crate) fn check_own(&self, host: &'static str, its: &Self) -> Result<(), Detail> {
        if self.same(its) {
            return Ok(());
        }
        Err(self.other(host, its))
    }

    /// Refuses an object that was made for `its` device on a stream of this one.
    #[inline]
    pub(crate) fn check_stream(&self, what: &str, its: &Self) -> Result<(), Detail> {
        if self.same(its) {
            return Ok(());
        }
        Err(self.stream_of_other(what, its))
    }

    #[cold]
    fn stream_of_other(&self, what: &str, its: &Self) -> Detail {
        let (its, own) = self.both_labels(its);
        Detail::StreamOfOtherDevice { what: what.to_owned(), its, own }
    }

    /// The error of an object that belongs to another device.
    #[cold]
    fn other(&self, host: &'static str, its: &Self) -> Detail {
        let (its, own) = self.both_labels(its);
        Detail::OtherDevice { host, its, own }
    }

    /// Whether streams of this device can wait for events of the other, and copy between the memories of both.
    pub(crate) fn is_peer_of(&self, other: &Self) -> bool {
        self.driver().is_peer_of(other.driver())
    }

    /// Refuses an object of `its` device on a stream of this one, unless the two are peers or the same.
    #[inline]
    pub(crate) fn check_peer(&self, what: &str, its: &Self) -> Result<(), Detail> {
        if self.same(its) { Ok(()) } else { self.check_other(what, its) }
    }

    #[inline(never)]
    fn check_other(&self, what: &str, its: &Self) -> Result<(), Detail> {
        self.not_forked()?;
        if self.is_peer_of(its) { Ok(()) } else { self.check_stream(what, its) }
    }

    /// Refuses in a forked process, in which no device knows another.
    pub(crate) fn not_forked(&self) -> Result<(), Detail> {
        if fork::is_child() { Err(Detail::Forked) } else { Ok(()) }
    }

    /// The way to a peer, once it is known.
    pub(crate) fn known_link(&self, peer: &Self) -> Option<Link> {
        self.shared.link(&peer.shared)
    }

    /// Notes the way to a peer.
    pub(crate) fn note_link(&self, peer: &Self, link: Link) {
        self.shared.note_link(&peer.shared, link);
    }

    pub(crate) fn both_labels(&self, its: &Self) -> (String, String) {
        let (its, mut own) = (its.label(), self.label());
        if its == own {
            own = format!("another {own}");
        }
        (its, own)
    }

    /// The device's name, with its index if it has one: a machine's GPUs often have the same name.
    pub(crate) fn label(&self) -> String {
        let Info { name, index, .. } = self.info();
        index.map_or_else(|| format!("`{name}`"), |index| format!("`{name}` (`cuda:{index}`)"))
    }

    /// The state that the device's handles share. In a forked process it is that of a device that refuses
    /// every call.
    #[inline]
    fn shared(&self) -> &Shared {
        if fork::is_child() { Shared::of_another_process() } else { &self.shared }
    }

    /// The driver that carries out the device's calls.
    #[inline]
    pub(crate) fn driver(&self) -> &dyn Driver {
        self.shared().driver()
    }

    /// The registry of streams and memory that the user handles directly.
    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        self.shared().registry()
    }

    /// Both at once.
    #[inline]
    pub(crate) fn parts(&self) -> (&dyn Driver, &Registry) {
        let shared = self.shared();
        (shared.driver(), shared.registry())
    }

    /// Refuses to wait inside a function of a stream. This is asked before anything is locked: whoever has
    /// the lock may be waiting, in the driver, for that function.
    pub(crate) fn may_wait(&self) -> Result<()> {
        self.driver().may_wait().map_err(|error| self.registry().callers().explain(error, None))
    }

    /// The device's model, once it is known.
    pub(crate) fn known_model(&self) -> &OnceLock<DeviceModel> {
        self.shared().model()
    }

    fn info(&self) -> &Info {
        self.shared.driver().info()
    }
}

impl Owner for Device {
    fn driver(&self) -> &dyn Driver {
        Self::driver(self)
    }

    fn callers(&self) -> &Callers {
        self.registry().callers()
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Info { name, memory, compute_capability: (major, minor), multiprocessors, kind, .. } =
            self.info();
        if let Kind::Cpu { threads } = kind {
            let s = if *threads == 1 { "" } else { "s" };
            return write!(f, "CPU: {name} ({threads} thread{s})");
        }
        let gib = *memory as f64 / f64::from(1 << 30);
        write!(
            f,
            "{name} (compute capability {major}.{minor}, {multiprocessors} multiprocessors, {gib:.0} GiB)"
        )
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({})", self.name())
    }
}
