//! CUDA's libraries, called from pipelines.

mod attacks;
mod cublas;
mod cublas_lt;
mod cudnn;
mod cufft;
mod curand;
mod failures;
mod others;
