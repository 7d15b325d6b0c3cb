//! Typed kernel launches: the arguments that a pipeline passes, and what `#[kernels]` makes of them.

mod arguments;
mod enqueue;
mod host;
mod lender;

pub use arguments::{
    AtomicArg, KernelScalar, OutArg, OwnArg, ReadArg, ReadWriteArg, Shaped, ShapedOutArg, ShapedOwnArg,
    WriteArg, argument,
};
pub(crate) use arguments::{aliases, grouped};
pub(crate) use enqueue::{Arguments, LaunchTarget};
pub use enqueue::{Kernel, Launch};
pub use host::{Position, for_each, host_body};
pub use lender::{Borrowed, Lender};

pub use super::views::{
    AtomicView, DeviceSlice, DeviceSliceMut, DeviceSliceOut, OwnView, Uneven, View, ViewMut,
};
