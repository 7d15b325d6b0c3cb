//! What carries out a device's calls: CUDA's driver, the simulated device, and one that refuses in a forked process.

pub(crate) mod cuda;
pub(crate) mod forked;
pub(crate) mod sim;
