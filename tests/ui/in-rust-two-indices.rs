// A kernel in Rust takes two positions.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, j: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
