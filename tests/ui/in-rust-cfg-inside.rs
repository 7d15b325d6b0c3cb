// A statement of a kernel in Rust has a `#[cfg]`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    #[cfg(debug_assertions)]
    assert!(x[i] > 0.0);
    *y = x[i];
}

fn main() {}
