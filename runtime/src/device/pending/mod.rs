//! What is pending on which memory: the operations of streams by hand, their order, and what became of them.

mod allocations;
pub(crate) mod capture;
pub(crate) mod core;
mod failures;
mod known;
pub(crate) mod progress;
pub(crate) mod registry;
pub(crate) mod uses;

pub(crate) use self::core::caller;
pub(crate) use registry::Registry;
pub(crate) use uses::{Held, Memory, Uses};
