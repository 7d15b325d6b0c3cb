//! The simulated device: a GPU's streams, events, copies and launches on the CPU, with a virtual clock.
//!
//! Enqueuing only puts commands into streams. They are carried out when the host waits for a stream or an
//! event, as a discrete-event simulation ([`timed`]) that runs until everything that is waited for is
//! complete. So a program that reads a result, or frees memory, before it has waited sees exactly that: the
//! result is missing, the memory is in use. Time is virtual and follows from the program and the
//! [`Simulation`] alone, so it is the same in every run (as long as one host thread uses the device; threads
//! share one virtual clock, in the order in which they really run).
//!
//! Data that pass through page-locked memory to or from other memory are copied once, not twice, if the order
//! is that of time: the device's copies are [redirected](crate::driver::Driver::redirect). Virtual time
//! advances as if both copies had been made.
//!
//! Apart from the simulation, and sharing no code with it, a race checker ([`order`], [`history`]) follows
//! the order that streams, events and waits on the host establish. Work that races with earlier work is not
//! carried out: it fails, as a launch does whose host body panics.
//!
//! # Failures
//! A failure belongs to the streams that it reaches. After the command that failed, its stream carries out no
//! more work. A stream that waits for an event that was recorded after the failure carries out no work after
//! that wait. Events are still recorded and waited for, so nothing hangs, and everything that the failure
//! does not reach goes on. Each stream that was reached reports the error from its next `synchronize_stream`,
//! once, and works again after that. An event recorded after the failure reports it until its stream has. So
//! after an error, synchronising with every stream of a run makes the device as good as new. (A GPU would be
//! lost until the process ends.)
//!
//! Deliberate faults ([`inject`], [`strike`]) are such failures, or calls that are refused. One kind of fault
//! is as bad as on a GPU: from then on every call fails, and nothing of the device is carried out ([`loss`]), while
//! others of its machine go on.

mod active;
mod adversary;
mod demand;
mod device;
mod driver;
mod fault;
pub(crate) mod forecast;
mod graph;
mod history;
mod inject;
mod job;
mod loss;
mod machine;
mod meeting;
mod memory;
mod model;
mod order;
mod queue;
mod random;
mod shares;
mod simulation;
mod strike;
#[cfg(test)]
mod tests;
mod timed;
mod together;
mod turns;
mod unwritten;
mod wait;
mod work;

pub(crate) use device::Sim;
pub use inject::{DriverCall, Effect, Fault, Injected};
pub(crate) use random::mixed;
pub use simulation::{SimulatedMachine, Simulation};
pub use unwritten::{Promise, whole_body};
