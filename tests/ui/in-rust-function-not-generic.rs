// The type that stands for several is no parameter of the function.

use thalweg::prelude::*;

#[device(T in [f32, f64])]
fn twice(x: f32) -> f32 {
    2.0 * x
}

fn main() {}
