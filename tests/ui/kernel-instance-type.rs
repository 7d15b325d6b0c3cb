// A parameter is not of the type that the instance makes it.

use thalweg::prelude::*;

#[kernels("sources/power.cu")]
unsafe extern "CUDA" {
    #[instantiate("math::power<float, 3>")]
    safe fn cube(n: u32, y: &mut [f64]);
}

fn main() {}
