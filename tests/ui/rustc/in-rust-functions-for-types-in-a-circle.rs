// Functions for several types call each other.

use thalweg::prelude::*;

#[device(T in [f32, f64])]
fn first<T>(x: T) -> T {
    second(x)
}

#[device(T in [f32, f64])]
fn second<T>(x: T) -> T {
    first(x)
}

fn main() {}
