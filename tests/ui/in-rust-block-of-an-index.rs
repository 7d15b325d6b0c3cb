// A kernel of an `Index` has a phase.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = block.reduce(|t| x[t.index()], |a, b| a + b);
}

fn main() {}
