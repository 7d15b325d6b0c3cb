// A `#[requires]` stands above `#[kernel]`.

use thalweg::prelude::*;

#[requires(x.len() == y.len())]
#[kernel]
fn copy(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
