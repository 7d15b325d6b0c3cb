// A closure with a name has a phase, and changes a variable of the block.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let total = || block.reduce(|t| x[t.rank()], |a, b| a + b);
    y.put(block.index(), total());
}

fn main() {}
