// A kernel in Rust multiplies a float by an integer.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, n: u32, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i] * n;
}

fn main() {}
