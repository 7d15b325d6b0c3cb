// A kernel in Rust takes an `Own` by value.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, mut y: Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1.0;
}

fn main() {}
