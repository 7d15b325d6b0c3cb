//! [`Spec`]: what a simulated device is like, and what goes wrong on it.

use super::inject::Fault;
use crate::base::model::DeviceModel;

/// A simulated device that is to be: the [model](DeviceModel) of a device, an order of its operations, and what goes wrong on it.
///
/// ```
/// use thalweg::{Device, Spec};
///
/// let small = Device::simulated(Spec::h200().with_memory(64 << 20));
/// assert_eq!(small.memory(), 64 << 20);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Spec {
    /// What it is like.
    pub model: DeviceModel,
    pub(super) adversary: Option<u64>,
    pub(super) faults: Vec<Fault>,
}

impl From<DeviceModel> for Spec {
    fn from(model: DeviceModel) -> Self {
        Self { model, adversary: None, faults: Vec::new() }
    }
}

impl Spec {
    /// An H200: [`DeviceModel::h200`].
    pub fn h200() -> Self {
        DeviceModel::h200().into()
    }

    /// An A100: [`DeviceModel::a100`].
    pub fn a100() -> Self {
        DeviceModel::a100().into()
    }

    /// A GeForce RTX 4090: [`DeviceModel::rtx4090`].
    pub fn rtx4090() -> Self {
        DeviceModel::rtx4090().into()
    }

    /// A T4: [`DeviceModel::t4`].
    pub fn t4() -> Self {
        DeviceModel::t4().into()
    }

    /// Sets [`memory`](DeviceModel::memory), in bytes.
    #[must_use]
    pub fn with_memory(mut self, bytes: u64) -> Self {
        self.model.memory = bytes;
        self
    }

    /// Sets [`pinned_memory`](DeviceModel::pinned_memory), in bytes.
    #[must_use]
    pub fn with_pinned_memory(mut self, bytes: u64) -> Self {
        self.model.pinned_memory = bytes;
        self
    }

    /// Sets [`concurrent_kernels`](DeviceModel::concurrent_kernels).
    #[must_use]
    pub fn with_concurrent_kernels(mut self, kernels: u32) -> Self {
        self.model.concurrent_kernels = kernels;
        self
    }

    /// Runs operations in a random order that the streams and events allow, not in the order of time.
    ///
    /// Any order of the operations that are enqueued may come up, so a program that is correct on such a device for
    /// every `seed` depends on its streams and events only, never on how long something takes. One seed always gives
    /// the same orders. The clock goes on as if operations never overlapped.
    #[must_use]
    pub fn adversarial(mut self, seed: u64) -> Self {
        self.adversary = Some(seed);
        self
    }

    /// Has something go wrong: see [`Fault`]. Calls are counted from the device's beginning.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }
}

impl Default for Spec {
    /// [`Spec::h200`].
    fn default() -> Self {
        Self::h200()
    }
}
