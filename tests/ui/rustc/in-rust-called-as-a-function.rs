// A kernel in Rust calls a kernel.

use thalweg::prelude::*;

#[kernel]
fn filled(i: Index, a: f32, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a;
}

#[kernel]
fn twice(i: Index, a: f32, y: &mut Out<[f32]>) {
    filled(i, a, y);
}

fn main() {}
