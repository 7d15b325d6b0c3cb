// A brace of the source is never closed.

use thalweg::prelude::*;

#[kernels("host/unclosed.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

fn main() {}
