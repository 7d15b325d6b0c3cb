// A kernel in Rust calls CUDA's function for atomics.

use std::sync::atomic::AtomicU32;

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[u32], counts: &[AtomicU32]) {
    atomicAdd(&counts[x[i] as usize], 1);
}

fn main() {}
