// A kernel in Rust keeps a range in a variable.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let inside = 1..x.len();
    *y = x[i];
}

fn main() {}
