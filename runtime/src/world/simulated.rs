//! [`ranks`]: a program as several ranks in one process, on simulated devices.

use std::panic::resume_unwind;
use std::time::Duration;

use super::{World, next_number};
use crate::backends::sim::SimulatedMachine;
use crate::device::Device;
use crate::ranks::{Limits, Members};

/// How long simulated ranks wait for each other in real time. Nothing but their programs' own work keeps them.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs a program as one rank for each device of a simulated machine, in this process, and returns what each rank
/// returns. A rank's [`World::device`] is its device of the machine.
///
/// Each rank has a thread of its own. They take turns, and virtual time is the same in every run. Collective operations
/// take the time that the machine's links give them. Ranks that wait for each other for ever are found: each of them
/// gets an error that says who waits for whom.
///
/// ```
/// use thalweg::sim::{MachineModel, ranks};
///
/// let sums = ranks(MachineModel::h200(4), |world| world.part(10).sum::<usize>());
/// assert_eq!(sums, [3, 12, 13, 17]);
/// ```
///
/// # Panics
/// If a rank panics; the others then see that it has failed.
pub fn ranks<R: Send>(machine: impl Into<SimulatedMachine>, program: impl Fn(&World) -> R + Sync) -> Vec<R> {
    let devices = Device::simulated_machine(machine);
    let limits = Limits { rendezvous: LIMIT, gather: LIMIT, ..Limits::default() };
    let number = next_number();
    let members = Members::together(devices.len(), limits);
    // All are announced before the first one begins, so that the first turn does not depend on which thread is there
    // first.
    let seats: Vec<_> = devices.into_iter().map(Seat::expect).zip(members).collect();
    let results: Vec<_> = std::thread::scope(|scope| {
        let run = |(seat, members): (Seat, _)| {
            let program = &program;
            scope.spawn(move || {
                let world = World::new(members, number, Some(seat.device.clone()));
                seat.begin();
                program(&world)
            })
        };
        let threads: Vec<_> = seats.into_iter().map(run).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    results.into_iter().map(|result| result.unwrap_or_else(|panic| resume_unwind(panic))).collect()
}

/// A rank's thread, which takes turns with the others until this is dropped.
struct Seat {
    device: Device,
    ticket: u64,
}

impl Seat {
    fn expect(device: Device) -> Self {
        let ticket = device.driver().expect_thread();
        Self { device, ticket }
    }

    fn begin(&self) {
        self.device.driver().begin_thread(self.ticket);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.device.driver().end_thread(self.ticket);
    }
}
