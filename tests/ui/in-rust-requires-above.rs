// A `#[requires]` stands above `#[kernel]`, and one on a function that is none.

use thalweg::prelude::*;

#[requires(x.len() == y.len())]
#[kernel]
fn copy(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

#[requires(x >= 0.0)]
fn root(x: f32) -> f32 {
    x.sqrt()
}

fn main() {}
