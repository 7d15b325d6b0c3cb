// A kernel in Rust names a type by an alias.

use thalweg::prelude::*;

type Real = f32;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let half: Real = 0.5;
    *y = half * x[i];
}

fn main() {}
