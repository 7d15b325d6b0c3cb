//! [`Device`]: the handle of a GPU, or of the simulated device.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::pending::{Caller, Callers, Owner, Registry};
use super::shared::Shared;
use crate::base::error::{ErrorKind, Result};
use crate::base::fork;
use crate::base::model::DeviceModel;
use crate::driver::{Driver, Info};

/// A GPU, or the simulated device. Cloning it is cheap and names the same device.
///
/// ```
/// use thalweg::{Device, Spec};
///
/// let device = Device::simulated(Spec::h200());
/// assert!(device.is_simulated());
/// println!("{device}");
/// ```
#[derive(Clone)]
pub struct Device {
    pub(super) shared: Arc<Shared>,
}

impl Device {
    /// The device's name, `NVIDIA H200`, or `simulated H200`.
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
    /// The driver cannot be asked ([`ErrorKind::Driver`]).
    pub fn free_memory(&self) -> Result<u64> {
        Ok(self.driver().free_memory()?)
    }

    /// Compute capability, `(9, 0)` for Hopper.
    pub fn compute_capability(&self) -> (u32, u32) {
        self.info().compute_capability
    }

    /// Whether this is the simulated device.
    pub fn is_simulated(&self) -> bool {
        self.info().simulated
    }

    /// Whether `other` is this same device.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Refuses what was made for `its` device, unless that is this one.
    #[inline]
    pub(crate) fn check_own(&self, host: &'static str, its: &Self) -> Result<(), ErrorKind> {
        if self.same(its) {
            return Ok(());
        }
        Err(self.other(host, its))
    }

    /// Refuses what was made for `its` device on a stream of this one.
    pub(crate) fn check_stream(&self, what: &str, its: &Self) -> Result<(), ErrorKind> {
        if self.same(its) {
            return Ok(());
        }
        let (its, own) = self.both_labels(its);
        Err(ErrorKind::StreamOfOtherDevice { what: what.to_owned(), its, own })
    }

    /// It is another one.
    #[cold]
    fn other(&self, host: &'static str, its: &Self) -> ErrorKind {
        let (its, own) = self.both_labels(its);
        ErrorKind::OtherDevice { host, its, own }
    }

    fn both_labels(&self, its: &Self) -> (String, String) {
        let (its, mut own) = (its.label(), self.label());
        if its == own {
            own = format!("another {own}");
        }
        (its, own)
    }

    /// Its name, and its index where it has one: a machine's GPUs often have the same name.
    fn label(&self) -> String {
        let Info { name, index, .. } = self.info();
        index.map_or_else(|| format!("`{name}`"), |index| format!("`{name}` (`cuda:{index}`)"))
    }

    /// What is of this device. In a forked process it is of one that refuses every call.
    #[inline]
    fn shared(&self) -> &Shared {
        if fork::is_child() { Shared::of_another_process() } else { &self.shared }
    }

    /// The driver that carries out its calls.
    #[inline]
    pub(crate) fn driver(&self) -> &dyn Driver {
        self.shared().driver()
    }

    /// What is known of streams and memory in the user's own hands.
    #[inline]
    pub(crate) fn registry(&self) -> &Registry {
        self.shared().registry()
    }

    /// Refuses to wait where a function of a stream's runs. To be asked before anything is locked: whoever has the lock may wait, in
    /// the driver, for the function.
    pub(crate) fn may_wait(&self, caller: Option<Caller>) -> Result<()> {
        self.driver().may_wait().map_err(|error| self.registry().callers().explain(error, caller))
    }

    /// What the device is like, once that is known.
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
        let Info { name, memory, compute_capability: (major, minor), multiprocessors, .. } = self.info();
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
