// `#[reads]` stands on a slice that the kernel writes.

use thalweg::prelude::*;

#[kernels("add.cu")]
unsafe extern "CUDA" {
    safe fn add(n: u32, x: &[f32], #[reads] y: &mut [f32]);
}

fn main() {}
