// A shared array is filled from itself.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut part = block.shared::<[f32; 64]>();
    block.fill(&mut part, |i| x[i]);
    block.fill(&mut part, |i| part[63 - i]);
    y.put(block.index(), block.reduce(|t| part[t.rank()], |a, b| a - b));
}

fn main() {}
