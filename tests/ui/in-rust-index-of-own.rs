// A thread's own element gets an index.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    y[i] = 2.0 * x[i];
}

fn main() {}
