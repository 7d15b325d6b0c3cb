//! [`Sim`]: a simulated device.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::inject::{DriverCall, Fault, Injected};
use super::machine::Machine;
use super::model::Model;
use super::simulation::{SimulatedMachine, Simulation};
use super::wait;
use crate::base::crews;
use crate::base::host_copy::Workers;
use crate::base::machine::MachineModel;
use crate::base::model::DeviceModel;
use crate::driver::{Info, IsOver, Kind, Tag, occupancy};

/// Threads that copy. The memory of one socket can hardly feed more.
const COPY_THREADS: usize = 12;

/// The state that the devices of a simulated machine share.
pub(super) struct Shared {
    machine: Mutex<Machine>,
    /// Signalled when a job has been carried out or a thread is given its turn, if a thread waits for that.
    pub(super) changed: Condvar,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Machine> {
        // No code of the user's runs under the lock, so a panic cannot leave the machine half-changed.
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A simulated device.
pub(crate) struct Sim {
    /// Its number in its machine.
    pub(super) number: usize,
    pub(super) info: Info,
    pub(super) model: DeviceModel,
    pub(super) machine_model: Arc<MachineModel>,
    /// The model in the simulation's units, which is read without the lock.
    pub(super) rates: Model,
    pub(super) shared: Arc<Shared>,
    /// The threads that copy.
    pub(super) workers: &'static Workers,
}

impl Sim {
    /// The device of a machine with one.
    pub(crate) fn new(spec: Simulation) -> Self {
        let Some(sim) = Self::all(&spec.into()).pop() else { unreachable!("the machine has a device") };
        sim
    }

    /// The devices of a machine.
    pub(crate) fn all(spec: &SimulatedMachine) -> Vec<Self> {
        let shared = Arc::new(Shared { machine: Mutex::new(Machine::new(spec)), changed: Condvar::new() });
        let machine = Arc::new(spec.model.clone());
        (0..machine.devices.len()).map(|number| Self::of(&machine, number, Arc::clone(&shared))).collect()
    }

    fn of(machine: &Arc<MachineModel>, number: usize, shared: Arc<Shared>) -> Self {
        let (machine_model, model) = (Arc::clone(machine), &machine.devices[number]);
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
        workers.employ(0, COPY_THREADS);
        let (rates, model) = (Model::new(model), model.clone());
        Self { number, info, model, machine_model, rates, shared, workers }
    }

    /// A number that tells apart the orders in which machines have carried out work.
    pub(crate) fn order(&self) -> u64 {
        self.machine().carried.0
    }

    /// The machine. If the device is lost, nothing of it is being carried out any more.
    pub(super) fn machine(&self) -> MutexGuard<'_, Machine> {
        let mut machine = self.shared.lock();
        // What runs inside of a job cannot wait for jobs. It frees nothing of a lost device.
        while machine.is_lost(self.number) && !crews::is_inside() {
            if !machine.skipped.is_empty() {
                wait::release(machine);
                machine = self.shared.lock();
            } else if machine
                .executing
                .is_some_and(|job| (job.device == self.number || job.is_shared) && job.borrows)
            {
                machine = self.sleep(machine).0;
            } else {
                break;
            }
        }
        machine
    }

    /// Makes something go wrong from now on.
    pub(crate) fn inject(&self, fault: Fault) -> Injected {
        self.machine().parts[self.number].faults.add(fault)
    }

    /// Whether a function of this operation is to panic.
    pub(super) fn has_function_panic(&self, tag: Tag) -> bool {
        let faults = &mut self.machine().parts[self.number].faults;
        faults.strike(DriverCall::Function, Some(tag), 0, true).is_some()
    }

    /// Begins to enqueue on the calling thread, which has this ticket, when its turn comes.
    pub(super) fn begin_turns(&self, ticket: u64) {
        let mut machine = self.machine();
        machine.turns.begin(ticket, thread::current().id());
        self.await_turn(machine, ticket);
    }

    /// Lets the others go on while the calling thread waits for something else, until `is_over`. Returns its ticket, if
    /// it takes turns.
    pub(super) fn leave_turns(&self, is_over: IsOver) -> Option<u64> {
        let mut machine = self.machine();
        let ticket = machine.turns.ticket(thread::current().id())?;
        machine.turns.step_aside(ticket, is_over);
        self.pass_on(machine);
        Some(ticket)
    }

    /// Takes turns again.
    pub(super) fn resume_turns(&self, ticket: u64) {
        let mut machine = self.machine();
        machine.turns.come_back(ticket);
        self.await_turn(machine, ticket);
    }

    /// Ends the turns of a thread.
    pub(super) fn end_turns(&self, ticket: u64) {
        let mut machine = self.machine();
        machine.turns.end(ticket);
        self.pass_on(machine);
    }

    fn await_turn(&self, machine: MutexGuard<'_, Machine>, ticket: u64) {
        self.shared.changed.notify_all();
        // A device that is lost says so to the next call.
        drop(self.take_turn("cuStreamSynchronize", machine, ticket));
    }

    fn pass_on(&self, mut machine: MutexGuard<'_, Machine>) {
        machine.give_turn();
        drop(machine);
        self.shared.changed.notify_all();
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim").field("name", &self.info.name).finish_non_exhaustive()
    }
}
