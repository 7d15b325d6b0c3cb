//! CUDA stream pipelines that are proved race-free at compile time, on a GPU or on a simulated device.

mod cuda;
mod device;
mod driver;
mod error;
mod kernel;
mod sim;

pub use bytemuck::Pod;
pub use device::Device;
pub use error::{Complete, DriverError, Error, ErrorKind, Place, Result, Site};
pub use kernel::{Grid, Thread, blocks};
pub use sim::Spec;
