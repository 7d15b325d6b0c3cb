// The source includes headers that NVRTC does not have.

use thalweg::prelude::*;

#[kernels("host/headers.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

fn main() {}
