//! The parts of the runtime's lowest floor that the protocols use.

pub(crate) mod chunk;
pub(crate) mod error;
pub(crate) mod fork;
pub(crate) mod host_copy;
pub(crate) mod sync;
pub(crate) mod unwind;
