// A block writes the element of another.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let sum = block.reduce(|t| x[t.rank()], |a, b| a + b);
    y.put(block.blocks() - 1, sum);
}

fn main() {}
