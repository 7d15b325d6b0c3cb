// A tile is filled in a phase.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    for at in block.tiles::<32, 32>(y) {
        block.each(|_| block.fill(&mut y.tile(at), |[r, c]| x[r * 32 + c]));
    }
}

fn main() {}
