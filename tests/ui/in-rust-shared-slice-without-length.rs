// The length of a shared slice is not written.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut part = block.shared_slice::<f32>();
    block.fill(&mut part, |i| x[i]);
    y.put(block.index(), 0.0);
}

fn main() {}
