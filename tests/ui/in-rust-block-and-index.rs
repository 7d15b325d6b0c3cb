// A kernel has a block and an index.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
