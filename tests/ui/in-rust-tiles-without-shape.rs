// A kernel whose data have no shape has tiles.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    for at in block.tiles::<32, 32>(y) {
        block.fill(&mut y.tile(at), |[r, c]| x[r * 32 + c]);
    }
}

fn main() {}
