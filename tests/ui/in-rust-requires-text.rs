// `#[requires]` on a kernel in Rust has a text.

use thalweg::prelude::*;

#[kernel]
#[requires("x.len() == y.len()")]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
