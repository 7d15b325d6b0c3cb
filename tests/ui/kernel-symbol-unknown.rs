// A symbol has no variable in the source.

use thalweg::prelude::*;

#[kernels("sources/blur.cu")]
unsafe extern "CUDA" {
    safe fn blur(n: u32, x: &[f32], y: &mut [f32], #[symbol] wieghts: &[f32]);
}

fn main() {}
