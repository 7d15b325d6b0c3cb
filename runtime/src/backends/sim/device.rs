//! [`Sim`]: a simulated device.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::inject::{DriverCall, Fault, Injected};
use super::machine::Machine;
use super::model::Model;
use super::simulation::Simulation;
use crate::base::host_copy::Workers;
use crate::base::model::DeviceModel;
use crate::driver::{Info, Kind, Tag, occupancy};

/// Threads that copy. The memory of one socket can hardly feed more.
const COPY_THREADS: usize = 12;

/// A simulated device.
pub(crate) struct Sim {
    pub(super) info: Info,
    pub(super) model: DeviceModel,
    /// The model in the simulation's units, which is read without the lock.
    pub(super) rates: Model,
    machine: Mutex<Machine>,
    /// The threads that copy.
    pub(super) workers: &'static Workers,
    /// Signalled when a job has been carried out, if a thread waits for that.
    pub(super) executed: Condvar,
}

impl Sim {
    pub(crate) fn new(spec: Simulation) -> Self {
        let machine = Mutex::new(Machine::new(&spec));
        let Simulation { model, .. } = spec;
        let info = Info {
            name: model.name.clone(),
            kind: Kind::Simulated,
            index: None,
            memory: model.memory,
            compute_capability: model.compute_capability,
            multiprocessors: model.multiprocessors,
            priorities: model.priorities,
            max_shared: model.max_shared,
            cache: model.cache,
            cooperative: model.compute_capability >= occupancy::COOPERATIVE,
        };
        let workers = Workers::near(None);
        workers.employ(COPY_THREADS);
        let rates = Model::new(&model);
        Self { info, model, rates, machine, workers, executed: Condvar::new() }
    }

    /// A number that tells apart the orders in which devices have carried out work.
    pub(crate) fn order(&self) -> u64 {
        self.machine().carried.0
    }

    pub(super) fn machine(&self) -> MutexGuard<'_, Machine> {
        // No code of the user's runs under the lock, so a panic cannot leave the machine half-changed.
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes something go wrong from now on.
    pub(crate) fn inject(&self, fault: Fault) -> Injected {
        self.machine().faults.add(fault)
    }

    /// Whether a function of this operation is to panic.
    pub(super) fn has_function_panic(&self, tag: Tag) -> bool {
        self.machine().faults.strike(DriverCall::Function, Some(tag), 0, true).is_some()
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim").field("name", &self.info.name).finish_non_exhaustive()
    }
}
