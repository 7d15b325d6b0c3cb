// A shared slice is to hold what is no number.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, n: usize, x: &[f32], y: &mut Out<[f32]>) {
    let mut seen = block.shared_slice::<bool>(n);
    block.fill(&mut seen, |i| x[i] > 0.0);
    y.put(block.index(), 0.0);
}

fn main() {}
