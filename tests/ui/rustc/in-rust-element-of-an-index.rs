// A kernel in Rust passes its `Index` to `get` of a slice.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    if let Some(v) = x.get(i) {
        *y = *v;
    }
}

fn main() {}
