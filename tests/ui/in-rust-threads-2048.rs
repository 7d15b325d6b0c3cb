// A kernel in Rust has blocks of 2048 threads.

use thalweg::prelude::*;

#[kernel(threads = 2048)]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
