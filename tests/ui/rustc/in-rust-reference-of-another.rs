// The threads of a block would have a reference to the memory of another.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let sums = block.private(1_u32);
    let least = block.reduce(|t| &sums[t], |a, b| if *a < *b { a } else { b });
    y.put(block.index(), *least + x[0]);
}

fn main() {}
