//! Kernels: how they are loaded, and those of `thalweg-kernels` and of these tests compared with plain loops.

mod data;
mod elementwise;
mod filter;
mod loading;
mod matrix;
mod nvrtc;
mod reads;
mod reduce;
mod sources;
mod stencil;
mod top_k;
