// No GPU has clusters so large.

use thalweg::prelude::*;

#[kernels("scale.cu")]
unsafe extern "CUDA" {
    #[cluster(8, 8)]
    safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

fn main() {}
