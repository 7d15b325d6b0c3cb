//! CUDA stream pipelines that are proved race-free at compile time, on a GPU or on a simulated device.

mod cuda;
mod device;
mod driver;
mod error;
mod kernel;
mod launch;
mod memory;
mod pipeline;
mod plan;
mod report;
mod sim;
mod stream;

#[doc(hidden)]
pub mod __private;
pub mod prelude;

/// The crate behind [`Pod`]: derive it with `#[derive(Clone, Copy, Pod, Zeroable)]` and
/// `#[bytemuck(crate = "thalweg::bytemuck")]`.
pub use bytemuck;
pub use bytemuck::Pod;
pub use device::Device;
pub use error::{Complete, DriverError, Error, ErrorKind, Place, Result, Site};
pub use kernel::{Grid, Thread, blocks};
pub use launch::Position;
pub use memory::{InOut, Input, Output, PinnedBuf};
pub use pipeline::{Chunk, Options};
pub use plan::{
    Distance, EventPlan, Hazard, HazardPlan, HostPlan, OperationKind, OperationPlan, Plan, Priority,
    StreamPlan, WaitPlan,
};
pub use report::Report;
pub use sim::Spec;
pub use thalweg_macros::{kernels, stream_pipeline};
