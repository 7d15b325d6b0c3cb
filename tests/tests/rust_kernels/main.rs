//! Kernels in Rust: what they compute, what launches check, and how a fault is reported.

mod both;
mod elements;
mod faults;
mod gpu;
mod groups;
mod halves;
mod in_blocks;
mod instances;
mod launches;
mod names;
mod nvrtc;
mod structs;
mod tiles;
