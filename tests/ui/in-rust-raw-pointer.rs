// A kernel in Rust takes the address of an element.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let first = &raw const x[0];
    *y = unsafe { *first };
}

fn main() {}
