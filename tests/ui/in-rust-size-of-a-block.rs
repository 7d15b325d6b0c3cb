// The size of a block is written as in CUDA C++.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let sum = block.reduce(|t| x[t.index()], |a, b| a + b);
    y.put(block.index(), sum / blockDim.x as f32);
}

fn main() {}
