// A kernel of an `Index` calls CUDA's barrier.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    __syncthreads();
    *y = x[i];
}

fn main() {}
