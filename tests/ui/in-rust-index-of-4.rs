// A kernel in Rust counts in four dimensions.

use thalweg::prelude::*;

#[kernel]
fn k(at: Index<4>, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(at) else { return };
    *y = 1.0;
}

fn main() {}
