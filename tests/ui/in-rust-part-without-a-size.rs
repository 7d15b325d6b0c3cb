// The size of a thread's part of a tile is not written.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, y: &mut Out<[f32]>) {
    for at in block.tiles::<32, 32>(y) {
        block.fill_parts(&mut y.tile(at), |t| {
            let part = at.part(t);
            [[part.row(0) as f32; 4]; 4]
        });
    }
}

fn main() {}
