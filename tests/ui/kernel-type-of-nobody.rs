// A type of the source is defined in a file that includes it.

use thalweg::prelude::*;

#[kernels("kernel-type-of-nobody.cuh")]
unsafe extern "CUDA" {
    safe fn scale(n: u32, factor: f32, y: &mut [f32]);
}

fn main() {}
