// A kernel in Rust has a constant as a generic parameter.

use thalweg::prelude::*;

#[kernel]
fn k<const N: usize>(i: Index, weights: [f32; N], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = weights[i.get() % N];
}

fn main() {}
