// A shared array is filled by parts.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, y: &mut Out<[f32]>) {
    let mut tile = block.shared::<[[f32; 32]; 32]>();
    block.fill_parts(&mut tile, |t| [[t.rank() as f32; 4]; 4]);
    for at in block.tiles::<32, 32>(y) {
        block.fill(&mut y.tile(at), |[r, c]| tile[r][c]);
    }
}

fn main() {}
