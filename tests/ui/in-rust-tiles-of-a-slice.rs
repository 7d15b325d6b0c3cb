// Tiles are those of data that every thread reads.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    for at in block.tiles::<32, 32>(x) {
        block.fill(&mut y.tile(at), |[r, c]| x[r * 32 + c]);
    }
}

fn main() {}
