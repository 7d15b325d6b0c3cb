// An `Own` gets another name in a kernel in blocks.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Own<[f32]>) {
    let z = y;
    z.put(block.index(), block.reduce(|t| x[t.rank()], |a, b| a + b));
}

fn main() {}
