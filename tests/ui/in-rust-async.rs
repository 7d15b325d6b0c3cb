// A kernel in Rust has an `async` block.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let later = async { 1.0 };
    *y = x[i];
}

fn main() {}
