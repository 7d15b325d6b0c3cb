// A padded array is passed as a whole.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    let mut tile = block.shared_padded::<[[f32; 32]; 32], 1>();
    for at in block.tiles::<32, 32>(y) {
        block.fill(&mut tile, |[r, c]| x[r * 32 + c]);
        block.fill(&mut y.tile(at), |[r, c]| {
            let whole = &tile;
            whole[c][r]
        });
    }
}

fn main() {}
