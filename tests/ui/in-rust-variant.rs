// A kernel in Rust names a variant.

use thalweg::prelude::*;

enum Edge {
    Clamp,
}

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let edge = Edge::Clamp;
    *y = x[i];
}

fn main() {}
