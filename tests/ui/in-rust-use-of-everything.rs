// A kernel in Rust has a `use` of everything.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    use std::f32::consts::*;
    *y = PI * x[i];
}

fn main() {}
