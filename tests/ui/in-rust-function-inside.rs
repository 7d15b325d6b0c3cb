// A kernel in Rust has a function inside.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    fn half(x: f32) -> f32 {
        0.5 * x
    }
    *y = half(x[i]);
}

fn main() {}
