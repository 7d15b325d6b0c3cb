//! The names of CUDA's `cuda.h` that the files need.

pub(crate) use cudarc::driver::sys::*;
