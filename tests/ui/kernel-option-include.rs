// An include folder is given as an option.

use thalweg::prelude::*;

#[kernels("scale.cu", options("-Iinclude"))]
unsafe extern "CUDA" {
    safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

fn main() {}
