// A tile's elements are kept in a variable.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    for at in block.tiles::<32, 32>(y) {
        let mut part = y.tile(at);
        block.fill(&mut part, |[r, c]| x[r * 32 + c]);
    }
}

fn main() {}
