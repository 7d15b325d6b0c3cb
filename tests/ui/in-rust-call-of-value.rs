// A kernel in Rust gives a function another name.

use thalweg::prelude::*;

#[device]
fn half(x: f32) -> f32 {
    0.5 * x
}

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let work = half;
    *y = work(x[i]);
}

fn main() {}
