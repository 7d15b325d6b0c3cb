// A kernel in Rust takes a tuple.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, at: (f32, f32), y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1.0;
}

fn main() {}
