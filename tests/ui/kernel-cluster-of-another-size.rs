// A launch asks for another cluster than the source has.

use thalweg::prelude::*;

#[kernels("sources/pairs.cu")]
unsafe extern "CUDA" {
    #[cluster(4)]
    #[requires(n as usize <= y.len())]
    safe fn pairs(n: u32, y: &mut [f32]);
}

fn main() {}
