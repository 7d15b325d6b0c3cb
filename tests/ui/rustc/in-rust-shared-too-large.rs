// An array does not fit into shared memory.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut part = block.shared::<[f32; 20000]>();
    block.fill(&mut part, |i| x[i]);
    y.put(block.index(), block.reduce(|t| part[t.rank()], |a, b| a + b));
}

fn main() {}
