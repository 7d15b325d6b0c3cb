//! What CUDA's driver has in `cuda.h`.

pub(crate) use cudarc::driver::sys::*;
