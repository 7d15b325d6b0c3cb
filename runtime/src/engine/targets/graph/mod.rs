//! Graph mode: operations are recorded, and launched as graphs that are kept.

pub(crate) mod cached;
mod recorded;
pub(crate) mod recorder;
pub(crate) mod repeat;
pub(crate) mod target;
