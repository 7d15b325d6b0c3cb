// A thread of a block is named as in CUDA C++.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let sum = block.reduce(|t| if threadIdx.x < 16 { x[t.index()] } else { 0.0 }, |a, b| a + b);
    y.put(block.index(), sum);
}

fn main() {}
