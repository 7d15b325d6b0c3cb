// A thread computes the place of the element that it writes.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Own<[f32]>) {
    let Some(next) = y.get_mut(i.get() + 1) else { return };
    *next += x[i];
}

fn main() {}
