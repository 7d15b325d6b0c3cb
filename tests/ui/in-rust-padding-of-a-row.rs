// An array without rows is padded.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut row = block.shared_padded::<[f32; 32], 1>();
    block.fill(&mut row, |i| x[i]);
    y.put(block.index(), block.reduce(|t| row[t.rank()], |a, b| a + b));
}

fn main() {}
