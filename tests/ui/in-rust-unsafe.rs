// A kernel in Rust has an `unsafe` block.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let first = unsafe { x.get_unchecked(0) };
    *y = *first;
}

fn main() {}
