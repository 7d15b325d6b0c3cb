// A kernel in Rust returns a value.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32]) -> f32 {
    x[i]
}

fn main() {}
