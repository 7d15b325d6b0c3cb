//! Tries many orders of one program: operations that streams and events do not order may run in any order.
//!
//! A program that works on one device may depend on how long things take there. [`explore`] runs it on
//! simulated devices, each of which carries operations out in another order that streams and events allow
//! ([`Simulation::adversarial`]). Any two operations that nothing orders are reported as a race in every
//! order. Exploring also finds results that differ, and functions on the host that rely on an order that is
//! not guaranteed.
//!
//! One seed is one order, as long as one thread of the program uses the device. The threads that a run on several
//! devices starts do not count: they take turns in the order of the seed.
//!
//! ```
//! use thalweg::prelude::*;
//! use thalweg_kernels::saxpy;
//!
//! stream_pipeline! {
//!     pipeline Saxpy {
//!         param a: f32;
//!         input x: [f32];
//!         inout y: [f32];
//!         chunk c = 64;
//!         stage load { copy x -> dx; copy y -> dy; }
//!         stage axpy { saxpy<<<blocks(c.len, 32), 32>>>(a, &dx, &mut dy); }
//!         stage store { copy dy -> y; }
//!     }
//! }
//!
//! let explored = thalweg::explore::explore(7, 50, |device| {
//!     let (x, mut y) = (vec![1.0; 1000], vec![2.0; 1000]);
//!     Saxpy::new(device)?.run(3.0, &x, &mut y)?;
//!     assert_eq!(y, [5.0; 1000]);
//!     Ok(())
//! })?;
//! assert_eq!(explored.schedules, 50);
//! println!("{explored}");
//! # Ok::<(), Error>(())
//! ```

use std::collections::HashSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::backends::sim::{Sim, SimulatedMachine, Simulation, mixed};
use crate::base::error::{Detail, Error, Result};
use crate::base::unwind::panic_message;
use crate::device::Device;

/// Runs a program on `schedules` simulated devices, each with an order of its own, and stops at the first
/// that fails.
///
/// The program fails if it returns an error or panics, as a failed `assert!` does. It must build everything
/// that it runs on the given device. See the [module's page](crate::explore) for an example, and [`Explore`]
/// for devices other than the default.
///
/// # Errors
/// The failure's kind and place, with the number of the schedule and its [seed](Error::seed). The seed alone
/// suffices to run the schedule again ([`replay`]).
pub fn explore(seed: u64, schedules: u64, program: impl FnMut(&Device) -> Result<()>) -> Result<Explored> {
    Explore::new(seed, schedules).run(program)
}

/// Runs a program in the one order that a seed stands for, on a device of the default [`Simulation`].
///
/// ```
/// use thalweg::explore::{explore, replay};
///
/// let failing = |_: &thalweg::Device| -> thalweg::Result<()> { panic!("a result is wrong") };
/// let error = explore(1, 10, failing).unwrap_err();
/// let seed = error.seed().expect("a schedule has failed");
/// assert!(replay(seed, failing).is_err());
/// ```
///
/// For a device of another `spec`, call `program(&Device::simulated(spec.adversarial(seed)))`.
///
/// # Errors
/// Those of [`explore`](fn@explore), for schedule 0.
pub fn replay(seed: u64, mut program: impl FnMut(&Device) -> Result<()>) -> Result<()> {
    attempt(&Simulation::default().into(), (0, seed), |devices| program(&devices[0])).map(drop)
}

/// Does what [`explore`](fn@explore) does, on devices of any [`Simulation`].
///
/// ```
/// use thalweg::explore::Explore;
/// use thalweg::sim::Simulation;
/// use thalweg::DeviceBuf;
///
/// let little = Simulation::t4().with_memory(1 << 20);
/// let explored = Explore::new(1, 20).simulation(little).run(|device| {
///     DeviceBuf::from_slice(device, &[1.0_f32; 100]).map(drop)
/// })?;
/// assert_eq!(explored.orders, 1, "there is nothing that might come in another order");
/// # Ok::<(), thalweg::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing runs before `run`"]
pub struct Explore {
    seed: u64,
    schedules: u64,
    simulation: Simulation,
}

impl Explore {
    /// Explores `schedules` schedules, whose seeds follow from `seed`.
    pub fn new(seed: u64, schedules: u64) -> Self {
        Self { seed, schedules, simulation: Simulation::default() }
    }

    /// Uses devices like this one, except for the order.
    pub fn simulation(mut self, simulation: Simulation) -> Self {
        self.simulation = simulation;
        self
    }

    /// Runs the program once for each schedule, until one fails.
    ///
    /// # Errors
    /// Those of [`explore`](fn@explore).
    pub fn run(self, mut program: impl FnMut(&Device) -> Result<()>) -> Result<Explored> {
        let machine = self.simulation.clone().into();
        self.each(|number, seed| attempt(&machine, (number, seed), |devices| program(&devices[0])))
    }

    /// Does the same on the devices of machines like this one, except for the order. What
    /// [`simulation`](Self::simulation) was given is not used.
    ///
    /// The order of a seed comes again on the devices of
    /// `Device::simulated_machine(SimulatedMachine::from(model).adversarial(seed))`; [`replay`] is for one device.
    ///
    /// ```
    /// use thalweg::explore::Explore;
    /// use thalweg::prelude::*;
    /// use thalweg::sim::MachineModel;
    /// use thalweg_kernels::saxpy;
    ///
    /// # stream_pipeline! {
    /// #     pipeline Saxpy {
    /// #         param a: f32;
    /// #         input x: [f32];
    /// #         inout y: [f32];
    /// #         chunk c = 64;
    /// #         stage load { copy x -> dx; copy y -> dy; }
    /// #         stage axpy { saxpy<<<blocks(c.len, 32), 32>>>(a, &dx, &mut dy); }
    /// #         stage store { copy dy -> y; }
    /// #     }
    /// # }
    /// let explored = Explore::new(7, 20).run_on_machine(MachineModel::h200(2), |devices| {
    ///     let (x, mut y) = (vec![1.0; 1000], vec![2.0; 1000]);
    ///     Saxpy::new(devices)?.run(3.0, &x, &mut y)?;
    ///     assert_eq!(y, [5.0; 1000]);
    ///     Ok(())
    /// })?;
    /// assert!(explored.orders > 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`explore`](fn@explore).
    pub fn run_on_machine(
        self,
        machine: impl Into<SimulatedMachine>,
        mut program: impl FnMut(&[Device]) -> Result<()>,
    ) -> Result<Explored> {
        let machine = machine.into();
        self.each(|number, seed| attempt(&machine, (number, seed), &mut program))
    }

    /// Tries each schedule, by its number and its seed. `attempt` returns a number that identifies its order.
    fn each(&self, mut attempt: impl FnMut(u64, u64) -> Result<u64>) -> Result<Explored> {
        let mut orders = HashSet::new();
        for number in 0..self.schedules {
            // Mixed, because the orders of neighbouring numbers would be those of one sequence, shifted.
            orders.insert(attempt(number, mixed(self.seed.wrapping_add(number)))?);
        }
        Ok(Explored { schedules: self.schedules, orders: orders.len() as u64 })
    }
}

/// The outcome of an exploration without a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// The number of schedules that were run.
    pub schedules: u64,
    /// The number of different orders among them in which the devices carried out copies, launches and
    /// functions. If it is 1, the program leaves no choice, or does not use the device that it is given.
    pub orders: u64,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { schedules, orders } = self;
        match orders {
            1 => write!(f, "schedules explored: {schedules} (1 order)")?,
            _ => write!(f, "schedules explored: {schedules} ({orders} different orders)")?,
        }
        if orders == 1 && schedules > 1 {
            write!(f, "\n  help: does the program use the device that it is handed?")?;
        }
        Ok(())
    }
}

/// Runs the program in one order, and returns a number that identifies the order.
fn attempt(
    machine: &SimulatedMachine,
    (number, seed): (u64, u64),
    mut program: impl FnMut(&[Device]) -> Result<()>,
) -> Result<u64> {
    let sims: Vec<_> = Sim::all(&machine.clone().adversarial(seed)).into_iter().map(Arc::new).collect();
    let devices: Vec<_> = sims.iter().map(|sim| Device::with_driver(sim.clone())).collect();
    // State that a panic leaves half-done belongs to the program, which is not called again.
    let outcome = catch_unwind(AssertUnwindSafe(|| program(&devices)));
    let outcome =
        outcome.unwrap_or_else(|panic| Err(Detail::Panicked { message: panic_message(panic) }.into()));
    // A failure of a stream used by hand that nobody has asked for is the cause of any later panic or error.
    let is_told = outcome.as_ref().is_err_and(|error| !matches!(error.detail(), Detail::Panicked { .. }));
    let untold = devices.iter().filter_map(|device| device.registry().take_untold()).next();
    let untold = untold.filter(|_| !is_told);
    untold.map_or(outcome, Err).map_err(|error: Error| error.in_schedule(number, seed))?;
    Ok(sims.first().map_or(0, |sim| sim.order()))
}
