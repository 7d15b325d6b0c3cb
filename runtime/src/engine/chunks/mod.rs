//! The chunks of a run, and its progress with each.

pub(crate) mod chunking;
pub(crate) mod costs;
pub(crate) mod log;
pub(crate) mod window;
