// No template has the name of an instance.

use thalweg::prelude::*;

#[kernels("sources/power.cu")]
unsafe extern "CUDA" {
    #[instantiate("power<float, 3>")]
    safe fn cube(n: u32, y: &mut [f32]);
}

fn main() {}
