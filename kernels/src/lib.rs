//! CUDA kernels, ready for pipelines.
