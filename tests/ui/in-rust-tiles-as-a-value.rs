// The tiles of a block are kept in a variable.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    let tiles = block.tiles::<32, 32>(y);
    for at in tiles {
        block.fill(&mut y.tile(at), |[r, c]| x[r * 32 + c]);
    }
}

fn main() {}
