// A kernel in Rust calls a function without `#[device]`.

use thalweg::prelude::*;

fn doubled(x: f32) -> f32 {
    2.0 * x
}

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = doubled(x[i]);
}

fn main() {}
