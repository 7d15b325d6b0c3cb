//! Sources and sinks: host arguments that are read or written chunk by chunk while a run goes on.

#[cfg(feature = "arrow")]
mod arrow;
mod bytes;
mod formats_sink;
mod formats_source;
mod npy;
#[cfg(feature = "parquet")]
mod parquet;
mod scalar;
pub mod sink;
pub mod source;

pub use crate::exchange::{Sink, Source, Streamed};
pub use scalar::Scalar;
