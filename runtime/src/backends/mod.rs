//! The drivers that carry out a device's calls: CUDA's, the CPU's, the simulated device's, and one that refuses
//! in a forked process.

pub(crate) mod cpu;
pub(crate) mod cuda;
pub(crate) mod forked;
pub(crate) mod sim;
