// The type of a shared slice's elements is not written.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, n: usize, x: &[f32], y: &mut Out<[f32]>) {
    let mut part = block.shared_slice(n);
    block.fill(&mut part, |i| x[i]);
    y.put(block.index(), 0.0);
}

fn main() {}
