//! Host functions in stream order.
//!
//! The driver calls on a thread of its own that all streams share, and that may not call the driver. So that thread only
//! hands a job to a thread of ours ([`pool`]). The stream meanwhile waits for a word of page-locked memory to change
//! ([`words`](super::words)), which our thread writes when the job has returned. What the driver is to call, it may never
//! call: that is what [`callbacks`] is about.
//!
//! Each stream has a word, which counts the jobs that it has waited for. Where the device cannot wait for memory, the
//! driver's thread waits for ours. The argument for the words and the threads is in this folder's README.

mod callbacks;
#[cfg(test)]
mod callbacks_tests;
mod functions;
mod pool;
#[cfg(test)]
mod pool_tests;

pub(super) use functions::HostFunctions;
