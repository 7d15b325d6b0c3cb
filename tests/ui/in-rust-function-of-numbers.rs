// A function with `#[device]` lists the numbers that it is for.

use thalweg::prelude::*;

#[device(N in [3, 5])]
fn sum<const N: usize>(x: [f32; N]) -> f32 {
    x[0] + x[N - 1]
}

fn main() {}
