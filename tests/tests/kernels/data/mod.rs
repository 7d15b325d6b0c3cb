//! Histograms, normalisation, gather and Black-Scholes of `thalweg-kernels`: the simulated device is compared
//! with plain loops, and a GPU with the simulated device.

mod gather;
mod histograms;
mod normalization;
mod prices;

use proptest::prelude::ProptestConfig;
use thalweg::prelude::*;

fn simulated() -> Device {
    Device::simulated(Simulation::default())
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() }
}

/// The borders of blocks, and more than any grid below has threads.
const LENGTHS: [usize; 11] = [0, 1, 15, 16, 17, 31, 33, 255, 257, 1025, 1_000_000];

/// As CUDA's `dim3`.
type Dim3 = (u32, u32, u32);

/// Grids and blocks of every kind of shape.
const SHAPES: [(Dim3, Dim3); 6] = [
    ((1, 1, 1), (1, 1, 1)),
    ((264, 1, 1), (256, 1, 1)),
    ((3, 1, 1), (33, 1, 1)),
    ((1, 1, 1), (1024, 1, 1)),
    ((2, 3, 2), (10, 10, 10)),
    ((2, 1, 1), (1, 2, 3)),
];
