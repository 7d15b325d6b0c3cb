// A kernel in Rust names a constant that does not exist.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = HALF * x[i];
}

fn main() {}
