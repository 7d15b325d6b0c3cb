// A kernel in Rust makes an `Option`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let found = Some(x[i]);
    *y = found.unwrap_or(0.0);
}

fn main() {}
