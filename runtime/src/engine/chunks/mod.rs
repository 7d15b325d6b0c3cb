//! How a run is cut into chunks, and how far it has got with each.

pub(crate) mod chunking;
pub(crate) mod costs;
pub(crate) mod log;
pub(crate) mod window;
