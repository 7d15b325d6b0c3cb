// A variable of a kernel in Rust is a `Vec`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let found: Vec<f32> = x.to_vec();
    *y = found[0];
}

fn main() {}
