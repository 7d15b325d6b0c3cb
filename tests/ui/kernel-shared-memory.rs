// A kernel has more static shared memory than a block may have.

use thalweg::prelude::*;

#[kernels("sources/tile.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn turn(n: u32, y: &mut [f32]);
}

fn main() {}
