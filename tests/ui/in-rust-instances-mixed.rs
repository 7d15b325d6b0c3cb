// A parameter of a kernel in Rust stands for a number and a type.

use thalweg::prelude::*;

#[kernel(N in [3, f32])]
fn k(i: Index, weights: [f32; N], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = weights[i.get() % N];
}

fn main() {}
