// An include folder does not exist.

use thalweg::prelude::*;

#[kernels("scale.cu", include("inclood"))]
unsafe extern "CUDA" {
    safe fn scale(n: u32, a: f32, y: &mut [f32]);
}

fn main() {}
