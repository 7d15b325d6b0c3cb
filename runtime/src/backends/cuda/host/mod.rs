//! Host functions in stream order.
//!
//! The driver calls on its own thread, which all streams share, and which may not call the driver. So that
//! thread only hands a job to a thread of this crate ([`pool`]). The stream meanwhile waits for a word of
//! page-locked memory to change ([`words`](super::words)), which the pool's thread writes when the job has
//! returned. The driver may never make a call that it was asked for: [`callbacks`] deals with that.
//!
//! Each stream has a word, which counts the jobs that it has waited for. If the device cannot wait for
//! memory, the driver's thread waits for the pool's. The argument for the words and the threads is in this
//! folder's README.

mod callbacks;
#[cfg(test)]
mod callbacks_tests;
mod functions;
mod pool;
#[cfg(test)]
mod pool_tests;

pub(super) use functions::HostFunctions;
