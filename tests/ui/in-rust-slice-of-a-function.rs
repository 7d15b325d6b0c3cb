// A function of kernels in Rust takes a `&mut [T]`.

use thalweg::prelude::*;

#[device]
fn double(y: &mut [f32]) {
    y[0] *= 2.0;
}

fn main() {}
