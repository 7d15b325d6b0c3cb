//! Everything that a program with a pipeline needs: `use thalweg::prelude::*;`.

pub use crate::{
    Device, DeviceBuf, Error, ErrorKind, GIB, Grid, KIB, MIB, PinnedBuf, Plan, Pod, Report, Result, Spec,
    Thread, Zeroable, blocks, kernels, stream_pipeline,
};
