// A kernel in Rust unwraps an `Option`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = *x.get(3).unwrap();
}

fn main() {}
