// A kernel has the numbers that it is for, and a generic parameter beside them.

use thalweg::prelude::*;

#[kernel(N in [3, 5])]
fn k<const N: usize>(i: Index, weights: [f32; N], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = weights[i.get() % N];
}

fn main() {}
