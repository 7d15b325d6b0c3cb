//! Kernels in Rust: what they compute, what launches check, and how a fault is reported.

mod atomics;
mod both;
mod complex;
#[allow(clippy::all, reason = "odd programs are what is tried")]
mod corners;
mod divided;
mod dynamic;
mod elements;
mod faults;
mod fetched;
mod gpu;
mod gpu_typed;
mod groups;
mod halo;
mod halves;
mod in_blocks;
mod instances;
#[allow(dead_code, reason = "some kernels are launched by the tests of C++ on the host alone")]
mod jumped;
mod launches;
mod names;
mod nvrtc;
mod proved;
mod rounds;
mod scans;
mod sized;
mod speed;
mod structs;
mod tiles;
mod tree;
mod typed;
mod warps;
mod watched;
