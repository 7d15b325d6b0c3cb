//! The exact calls of CUDA's driver and libraries, without a GPU: stubs write them down.

mod calibration;
mod cublas;
mod full_queues;
mod kernels;
mod libraries;
mod peers;
mod pipelines;
mod ranks;
mod repeated_names;
mod repeated_on_several;
mod repeated_runs;
mod replays;
mod rust_kernels;
mod shared_slices;
mod train_ranks;
mod visible;
