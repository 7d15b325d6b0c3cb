// A kernel in Rust names a constant that is a tuple.

use thalweg::prelude::*;

const CENTRE: (f32, f32) = (0.5, 0.5);

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = CENTRE.0 - x[i];
}

fn main() {}
