// A kernel in Rust takes a slice of `bool`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, mask: &[bool], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1.0;
}

fn main() {}
