// No argument tells for which type a function is called.

use thalweg::prelude::*;

#[device(T in [f32, f64])]
fn half<T>() -> T {
    0.5
}

fn main() {}
