// An array in shared memory leaves no room for a reduction.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut part = block.shared::<[f32; 12288]>();
    block.fill(&mut part, |i| x[i]);
    y.put(block.index(), block.reduce(|t| part[t.rank()], |a, b| a + b));
}

fn main() {}
