// The threads of a kernel in Rust are a constant.

use thalweg::prelude::*;

#[kernel(threads = THREADS)]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
