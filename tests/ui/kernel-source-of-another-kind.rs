// The source is not what its name says.

use thalweg::prelude::*;

#[kernels("sources/scale.ptx")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

fn main() {}
