// A thread's index is written as in CUDA C++.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[blockIdx.x * 256 + i.get() % 256];
}

fn main() {}
