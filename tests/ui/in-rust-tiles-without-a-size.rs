// The size of tiles is not written.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    for at in block.tiles(y) {
        block.fill(&mut y.tile(at), |[r, c]| x[r * 32 + c]);
    }
}

fn main() {}
