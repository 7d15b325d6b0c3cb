// An assertion of a kernel in Rust has a text with values.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    assert!(x[i] > 0.0, "found {}", x[i]);
    *y = x[i];
}

fn main() {}
