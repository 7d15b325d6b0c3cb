//! The kernel that the tutorial's program launches.

// ANCHOR: kernel
use thalweg::prelude::*;

#[kernels("adjust.cu")]
unsafe extern "CUDA" {
    /// `v[i] = gain * v[i] + offset` for `i < n`, with any grid.
    #[host(adjust_on_host)]
    #[requires(n as usize <= v.len())]
    pub safe fn adjust(n: u32, gain: f32, offset: f32, v: &mut [f32]);
}

/// What the simulated device runs.
fn adjust_on_host(_: Grid, n: u32, gain: f32, offset: f32, v: &mut [f32]) {
    for v in &mut v[..n as usize] {
        *v = gain * *v + offset;
    }
}

pub const GAIN: f32 = 2.0;
pub const OFFSET: f32 = 1.0;
// ANCHOR_END: kernel
