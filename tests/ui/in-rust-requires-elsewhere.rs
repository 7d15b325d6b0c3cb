// A `#[requires]` is on a function that is no kernel.

use thalweg::prelude::*;

#[requires(x >= 0.0)]
fn root(x: f32) -> f32 {
    x.sqrt()
}

fn main() {}
