// One parameter has tiles of two sizes, which overlap.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    for at in block.tiles::<32, 32>(y) {
        block.fill(&mut y.tile(at), |[r, c]| x[r * 32 + c]);
    }
    for at in block.tiles::<16, 64>(y) {
        block.fill(&mut y.tile(at), |[r, c]| x[r * 64 + c]);
    }
}

fn main() {}
