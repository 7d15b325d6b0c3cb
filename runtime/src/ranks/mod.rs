//! The ranks of a world: processes, or threads of one process, that run the same program on parts of its data.
//!
//! This module finds out which rank this process is ([`environment`]), brings the ranks together
//! ([`rendezvous`]), and keeps them together: it passes small payloads around ([`Members::gather`]), exchanges
//! data in host memory ([`Members::exchange`]), and tells every rank at once when one of them has died, has
//! failed or has left ([`control`]). It knows no device.
//!
//! This folder's README has the protocol, and the argument that nobody waits for ever.

#[cfg(unix)]
mod control;
mod environment;
mod gathering;
mod ledger;
mod members;
#[cfg(unix)]
mod mesh;
#[cfg(unix)]
mod rendezvous;
mod shared;
mod split;
#[cfg(all(test, unix))]
mod tests;
mod text;
mod together;
#[cfg(unix)]
mod wire;

pub(crate) use environment::Seat;
pub(crate) use members::{Limits, Members};
