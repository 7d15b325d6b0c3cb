//! Sources and sinks: host arguments that are read or written chunk by chunk while a run goes on.

mod bytes;
mod formats_sink;
mod formats_source;
mod npy;
mod parts;
mod parts_sink;
mod parts_source;
mod scalar;
pub mod sink;
pub mod source;

pub use crate::exchange::{Sink, Source, Streamed};
pub use scalar::Scalar;
