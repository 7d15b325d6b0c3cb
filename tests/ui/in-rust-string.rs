// A kernel in Rust has a text.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let name = "sum";
    *y = name.len() as f32;
}

fn main() {}
