//! Observing a run: timelines, findings, times, progress, `tracing` and NVTX.

mod book;
mod findings;
mod modes;
mod nvtx;
mod progress;
mod sampled;
mod timing;
mod tracing;
mod what_limits;
mod whole;
