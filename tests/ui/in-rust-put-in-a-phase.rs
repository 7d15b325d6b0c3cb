// An element of the block is written in a phase.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    block.each(|t| y.put(block.index(), x[t.rank()]));
}

fn main() {}
