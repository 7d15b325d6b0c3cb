// A pattern leaves out the rest of an array.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], weights: [f32; 5], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let [a, _, c, ..] = weights;
    *y = a * x[i] + c;
}

fn main() {}
