// A barrier as in CUDA C++.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    block.sync();
    y.put(block.index(), x[0]);
}

fn main() {}
