//! Typed kernel launches: what a pipeline passes and what `#[kernels]` makes of it.

mod arguments;
mod enqueue;
mod host;

pub use arguments::{KernelScalar, ReadArg, ReadWriteArg, WriteArg, argument};
pub(crate) use arguments::{aliases, sealed};
pub(crate) use enqueue::{Arguments, LaunchTarget};
pub use enqueue::{Kernel, Launch};
pub use host::{Position, for_each, host_body};

pub use super::views::{DeviceSlice, DeviceSliceMut, DeviceSliceOut, View, ViewMut};
