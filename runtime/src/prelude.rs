//! Everything that a program with a pipeline needs: `use thalweg::prelude::*;`.

pub use crate::io::{sink, source};
pub use crate::kernel::{
    Block, DeviceSlice, DeviceSliceMut, DeviceSliceOut, Grid, Index, Out, Own, Thread, blocks,
};
pub use crate::routine::Enqueue;
pub use crate::sim::Simulation;
pub use crate::{
    Device, DeviceBuf, Error, ErrorKind, GIB, KIB, MIB, PinnedBuf, Plan, Pod, Report, World, Zeroable,
    device, kernel, kernels, requires, stream_pipeline,
};
