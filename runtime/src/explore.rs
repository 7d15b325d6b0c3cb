//! Many orders of one program: what streams and events do not order may come in any order, so it is tried in many.
//!
//! A program that is right on one device may depend on how long things take there. [`explore`] runs it on simulated devices
//! each of which carries operations out in another order that streams and events allow ([`Spec::adversarial`]). Any two
//! operations that nothing orders are reported as a race whatever the order; what exploring adds are results that differ, and
//! functions on the host that rely on what they may not.
//!
//! One seed is one order, as long as one thread of the program uses the device.
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
//!         stage axpy { saxpy<<<blocks(c.len, 32), 32>>>(c.len as u32, a, &dx, &mut dy); }
//!         stage store { copy dy -> y; }
//!     }
//! }
//!
//! let explored = thalweg::explore(7, 50, |device| {
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

use crate::backends::sim::{Sim, Spec, mixed};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::unwind::panic_message;
use crate::device::Device;

/// Runs a program on `schedules` simulated devices, each with an order of its own, and stops at the first that fails.
///
/// The program fails if it returns an error or panics, as a failed `assert!` does. It must build what it runs on the device that
/// it is given. See the [module's page](mod@crate::explore) for an example, and [`Explore`] for devices other than the default.
///
/// # Errors
/// [`ErrorKind::Schedule`] with the schedule's number and seed, what happened, and where: the seed alone runs it again
/// ([`replay`]).
pub fn explore(seed: u64, schedules: u64, program: impl FnMut(&Device) -> Result<()>) -> Result<Explored> {
    Explore::new(seed, schedules).run(program)
}

/// Runs a program in the one order that a seed stands for, on a device of the default [`Spec`].
///
/// ```
/// use thalweg::explore::replay;
/// use thalweg::{ErrorKind, explore};
///
/// let failing = |_: &thalweg::Device| -> thalweg::Result<()> { panic!("a result is wrong") };
/// let error = explore(1, 10, failing).unwrap_err();
/// let &ErrorKind::Schedule { seed, .. } = error.kind() else { panic!("{error}") };
/// assert!(replay(seed, failing).is_err());
/// ```
///
/// On a device of another `spec` it is `program(&Device::simulated(spec.adversarial(seed)))`.
///
/// # Errors
/// As [`explore`](fn@explore), of schedule 0.
pub fn replay(seed: u64, program: impl FnMut(&Device) -> Result<()>) -> Result<()> {
    attempt(&Spec::default(), (0, seed), program).map(drop)
}

/// What [`explore`](fn@explore) does, on devices of any [`Spec`].
///
/// ```
/// use thalweg::explore::Explore;
/// use thalweg::{DeviceBuf, Spec};
///
/// let little = Spec::t4().with_memory(1 << 20);
/// let explored = Explore::new(1, 20).spec(little).run(|device| {
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
    spec: Spec,
}

impl Explore {
    /// So many schedules, of which the seeds follow from `seed`.
    pub fn new(seed: u64, schedules: u64) -> Self {
        Self { seed, schedules, spec: Spec::default() }
    }

    /// On devices like this, but for the order.
    pub fn spec(mut self, spec: Spec) -> Self {
        self.spec = spec;
        self
    }

    /// Runs the program once for each schedule, until one fails.
    ///
    /// # Errors
    /// As [`explore`](fn@explore).
    pub fn run(self, mut program: impl FnMut(&Device) -> Result<()>) -> Result<Explored> {
        let mut orders = HashSet::new();
        for number in 0..self.schedules {
            // Scrambled: the orders of neighbouring numbers would be those of one sequence, shifted.
            let seed = mixed(self.seed.wrapping_add(number));
            orders.insert(attempt(&self.spec, (number, seed), &mut program)?);
        }
        Ok(Explored { schedules: self.schedules, orders: orders.len() as u64 })
    }
}

/// What was explored without a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// Schedules that were run.
    pub schedules: u64,
    /// How many orders there were among them in which the devices carried out copies, launches and functions. If it is 1, the
    /// program leaves no choice, or does not use the device that it is given.
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

/// Runs the program in one order, and tells orders apart.
fn attempt(
    spec: &Spec,
    (number, seed): (u64, u64),
    mut program: impl FnMut(&Device) -> Result<()>,
) -> Result<u64> {
    let sim = Arc::new(Sim::new(spec.clone().adversarial(seed)));
    let device = Device::with_driver(sim.clone());
    // What a panic leaves half-done is the program's own, which is not called again.
    let outcome = catch_unwind(AssertUnwindSafe(|| program(&device)));
    let outcome =
        outcome.unwrap_or_else(|panic| Err(ErrorKind::Panicked { message: panic_message(panic) }.into()));
    // What a stream by hand has failed with, and nobody has asked for, is the cause of whatever else is wrong.
    let is_told = outcome.as_ref().is_err_and(|error| !matches!(error.kind(), ErrorKind::Panicked { .. }));
    let untold = device.registry().take_untold().filter(|_| !is_told);
    untold.map_or(outcome, Err).map_err(|error: Error| error.in_schedule(number, seed))?;
    Ok(sim.order())
}
