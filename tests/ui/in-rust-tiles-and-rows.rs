// One parameter has tiles and rows, which overlap.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    for at in block.tiles::<32, 32>(y) {
        block.fill(&mut y.tile(at), |[r, c]| x[r * 32 + c]);
    }
    for row in block.rows(y) {
        block.fill(&mut y.row(row), |c| x[c]);
    }
}

fn main() {}
