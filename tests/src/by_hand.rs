//! Kernels in CUDA C++, written by hand: what `thalweg-kernels` has in Rust is compared with them.

use rayon::prelude::*;
use thalweg::prelude::*;

/// Elements that one CPU thread takes at a time.
const PIECE: usize = 1 << 14;

// ANCHOR: saxpy
#[kernels("../cu/by_hand/saxpy.cu")]
unsafe extern "CUDA" {
    /// `y[i] += a * x[i]` for `i < n`.
    ///
    /// Needs one thread an element: `saxpy<<<blocks(n, 256), 256>>>(n, a, &x, &mut y)`. A GPU rounds the
    /// product and the sum once together (fused multiply-add); the host body rounds each, so that results may
    /// differ in the last bit.
    #[host(saxpy_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn saxpy(n: u32, a: f32, x: &[f32], y: &mut [f32]);
}

fn saxpy_on_host(launch: Grid, n: u32, a: f32, x: &[f32], y: &mut [f32]) {
    let n = covered(launch, n);
    y[..n].par_chunks_mut(PIECE).zip(x[..n].par_chunks(PIECE)).for_each(|(y, x)| {
        for (y, x) in y.iter_mut().zip(x) {
            *y += a * x;
        }
    });
}
// ANCHOR_END: saxpy

/// The elements that a one-dimensional launch with one thread an element reaches of `n`.
fn covered(launch: Grid, n: u32) -> usize {
    (launch.grid_dim[0] as usize * launch.block_dim[0] as usize).min(n as usize)
}
