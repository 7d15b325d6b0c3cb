// A parameter has the type of no branch of an `#if`.

use thalweg::prelude::*;

#[kernels("kernel-branches.cu")]
unsafe extern "CUDA" {
    safe fn scale(n: u32, factor: i32, y: &mut [f32]);
}

fn main() {}
