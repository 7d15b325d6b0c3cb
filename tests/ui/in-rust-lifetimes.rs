// A kernel in Rust has lifetimes.

use thalweg::prelude::*;

#[kernel]
fn k<'a>(i: Index, x: &'a [f32], y: &'a mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
