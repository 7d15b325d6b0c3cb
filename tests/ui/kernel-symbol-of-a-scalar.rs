// A value stands for a symbol.

use thalweg::prelude::*;

#[kernels("sources/blur.cu")]
unsafe extern "CUDA" {
    safe fn blur(n: u32, x: &[f32], y: &mut [f32], #[symbol] weights: f32);
}

fn main() {}
