//! The views of a run for users and tools, while it goes on and afterwards.

#[cfg(feature = "nvtx")]
mod nvtx;
pub(crate) mod timeline;
pub(crate) mod watch;
