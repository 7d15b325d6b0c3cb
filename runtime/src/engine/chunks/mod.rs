//! The chunks of a run, and its progress with each.

pub(crate) mod chunking;
pub(crate) mod costs;
pub(crate) mod dealer;
pub(crate) mod log;
pub(crate) mod window;

/// More slots than any overlap can use; each has its events and perhaps streams of its own.
pub(crate) const DEPTH_LIMIT: usize = 1024;
