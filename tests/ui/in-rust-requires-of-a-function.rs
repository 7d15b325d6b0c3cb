// A function of kernels in Rust has a `#[requires]`.

use thalweg::prelude::*;

#[device]
#[requires(x >= 0.0)]
fn root(x: f32) -> f32 {
    x.sqrt()
}

fn main() {}
