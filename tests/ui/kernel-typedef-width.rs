// A number has another width than the typedef in the source.

use thalweg::prelude::*;

#[kernels("sources/index.cu")]
unsafe extern "CUDA" {
    safe fn ones(n: u64, y: &mut [f32]);
}

fn main() {}
