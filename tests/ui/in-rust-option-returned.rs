// A function of kernels in Rust returns an `Option`.

use thalweg::prelude::*;

#[device]
fn first(x: &[f32]) -> Option<f32> {
    panic!()
}

fn main() {}
