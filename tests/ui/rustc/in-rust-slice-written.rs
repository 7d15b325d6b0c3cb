// A kernel in Rust writes to what it reads.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    x[0] = *y;
}

fn main() {}
