// An instance lacks an argument of the template.

use thalweg::prelude::*;

#[kernels("sources/power.cu")]
unsafe extern "CUDA" {
    #[instantiate("math::power<float>")]
    #[requires(n as usize <= y.len())]
    safe fn cube(n: u32, y: &mut [f32]);
}

fn main() {}
