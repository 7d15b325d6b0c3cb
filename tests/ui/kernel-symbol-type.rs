// A symbol has other elements than the variable in the source.

use thalweg::prelude::*;

#[kernels("sources/blur.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= x.len() && n as usize <= y.len())]
    safe fn blur(n: u32, x: &[f32], y: &mut [f32], #[symbol] weights: &[f64]);
}

fn main() {}
