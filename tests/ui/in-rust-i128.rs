// A kernel in Rust has a number of 128 bits.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let wide = 1_i128 << 100;
    *y = x[i];
}

fn main() {}
