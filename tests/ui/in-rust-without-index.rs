// A kernel in Rust does not take its position.

use thalweg::prelude::*;

#[kernel]
fn k(x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
