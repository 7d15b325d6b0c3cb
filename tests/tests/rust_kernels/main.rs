//! Kernels in Rust: what they compute, what launches check, and how a fault is reported.

mod elements;
mod faults;
mod gpu;
mod groups;
mod in_blocks;
mod instances;
mod launches;
mod names;
mod nvrtc;
mod tiles;
mod watched;
