// What was fetched is written to an array of another shape.

use thalweg::prelude::*;

#[kernel(threads = 64)]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut tile = block.shared::<[[f32; 16]; 4]>();
    let ahead = block.fetch::<[[f32; 4]; 16]>(|[r, c]| x[4 * r + c]);
    block.fill_fetched(&mut tile, &ahead);
    y.put(block.index(), 1.0);
}

fn main() {}
