//! What others see of a run: while it goes on, and afterwards.

#[cfg(feature = "nvtx")]
mod nvtx;
pub(crate) mod timeline;
pub(crate) mod watch;
