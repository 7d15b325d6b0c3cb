// A block fills a tile at a place that it has computed.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    for at in block.tiles::<32, 32>(y) {
        let next = at.left() + 32;
        block.fill(&mut y.tile(next), |[r, c]| x[r * 32 + c]);
    }
}

fn main() {}
