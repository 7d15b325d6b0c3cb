// The type of a function for several types has bounds.

use thalweg::prelude::*;

#[device(T in [f32, f64])]
fn twice<T: Copy>(x: T) -> T {
    x + x
}

fn main() {}
