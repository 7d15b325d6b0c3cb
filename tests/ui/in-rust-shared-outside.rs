// A shared array is read outside of a phase.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut part = block.shared::<[f32; 64]>();
    block.fill(&mut part, |i| x[i]);
    y.put(block.index(), part[0] + part[63]);
}

fn main() {}
