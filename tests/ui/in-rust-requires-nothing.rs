// `#[requires]` on a kernel in Rust has no condition.

use thalweg::prelude::*;

#[kernel]
#[requires]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
