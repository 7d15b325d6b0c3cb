// The source is a whole program, with code for the host.

use thalweg::prelude::*;

#[kernels("host/program.cu")]
unsafe extern "CUDA" {
    #[requires(n as usize <= y.len())]
    safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

fn main() {}
