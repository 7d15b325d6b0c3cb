// A parameter of a kernel in Rust is a pattern.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, [a, b]: [f32; 2], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a + b;
}

fn main() {}
