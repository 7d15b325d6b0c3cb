//! [`Simulation`]: the model of a simulated device, and its faults.

use super::inject::Fault;
use crate::base::machine::MachineModel;
use crate::base::model::DeviceModel;

/// The description of a simulated device before it exists: the [model](DeviceModel) of a device, the order of
/// its operations, and its faults.
///
/// ```
/// use thalweg::sim::Simulation;
/// use thalweg::Device;
///
/// let small = Device::simulated(Simulation::h200().with_memory(64 << 20));
/// assert_eq!(small.memory(), 64 << 20);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Simulation {
    /// The sizes and speeds of the device.
    pub model: DeviceModel,
    pub(super) adversary: Option<u64>,
    pub(super) faults: Vec<Fault>,
}

/// The description of a simulated machine before it exists: the [models](MachineModel) of its devices and of what they
/// share, the order of their operations, and their faults.
///
/// ```
/// use thalweg::sim::{MachineModel, SimulatedMachine};
///
/// let machine = SimulatedMachine::from(MachineModel::h200(4)).adversarial(7);
/// let devices = thalweg::Device::simulated_machine(machine);
/// assert_eq!(devices.len(), 4);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SimulatedMachine {
    /// The sizes and speeds of the machine.
    pub model: MachineModel,
    pub(super) adversary: Option<u64>,
    /// Those of each device.
    pub(super) faults: Vec<Vec<Fault>>,
}

impl From<MachineModel> for SimulatedMachine {
    fn from(model: MachineModel) -> Self {
        let faults = vec![Vec::new(); model.devices.len()];
        Self { model, adversary: None, faults }
    }
}

/// A machine with one device.
impl From<Simulation> for SimulatedMachine {
    fn from(Simulation { model, adversary, faults }: Simulation) -> Self {
        Self { model: MachineModel::from(vec![model]), adversary, faults: vec![faults] }
    }
}

impl SimulatedMachine {
    /// Runs operations in a random order, as [`Simulation::adversarial`] does, across all devices. The threads that
    /// enqueue the devices of one run take turns in a random order, too.
    #[must_use]
    pub fn adversarial(mut self, seed: u64) -> Self {
        self.adversary = Some(seed);
        self
    }

    /// Makes something go wrong on one device, by its number: see [`Fault`].
    ///
    /// # Panics
    /// If there is no such device.
    #[must_use]
    pub fn with_fault(mut self, device: usize, fault: Fault) -> Self {
        assert!(device < self.model.devices.len(), "the machine has no device {device}");
        self.faults.resize(self.model.devices.len(), Vec::new());
        self.faults[device].push(fault);
        self
    }
}

impl From<DeviceModel> for Simulation {
    fn from(model: DeviceModel) -> Self {
        Self { model, adversary: None, faults: Vec::new() }
    }
}

impl Simulation {
    /// An H200, with [`DeviceModel::h200`].
    pub fn h200() -> Self {
        DeviceModel::h200().into()
    }

    /// An A100, with [`DeviceModel::a100`].
    pub fn a100() -> Self {
        DeviceModel::a100().into()
    }

    /// A GeForce RTX 4090, with [`DeviceModel::rtx4090`].
    pub fn rtx4090() -> Self {
        DeviceModel::rtx4090().into()
    }

    /// A T4, with [`DeviceModel::t4`].
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

    /// Runs operations in a random order that the streams and events allow, instead of the order of time.
    ///
    /// Any such order of the enqueued operations may occur. So a program that is correct on such a device for
    /// every `seed` depends only on its streams and events, never on how long something takes. One seed
    /// always gives the same orders. The clock advances as if operations never overlapped.
    #[must_use]
    pub fn adversarial(mut self, seed: u64) -> Self {
        self.adversary = Some(seed);
        self
    }

    /// Makes something go wrong: see [`Fault`]. Calls are counted from the device's beginning.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }
}

impl Default for Simulation {
    /// The simulation [`Simulation::h200`].
    fn default() -> Self {
        Self::h200()
    }
}
