// Shared memory is made without a block.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let mut tile = shared::<[f32; 32]>();
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
