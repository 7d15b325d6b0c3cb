//! Everything that a program with a pipeline needs: `use thalweg::prelude::*;`.

pub use crate::{
    Device, DeviceBuf, DeviceSlice, DeviceSliceMut, DeviceSliceOut, Enqueue, Error, ErrorKind, GIB, Grid,
    KIB, MIB, PinnedBuf, Plan, Pod, Report, Result, Spec, Thread, Zeroable, blocks, kernels, sink, source,
    stream_pipeline,
};
