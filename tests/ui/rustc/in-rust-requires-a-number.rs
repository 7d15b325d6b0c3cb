// A condition on a kernel in Rust is a number.

use thalweg::prelude::*;

#[kernel]
#[requires(x.len())]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
