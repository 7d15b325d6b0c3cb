// A kernel in Rust takes the root of an integer.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, n: i32, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = n.sqrt() as f32;
}

fn main() {}
