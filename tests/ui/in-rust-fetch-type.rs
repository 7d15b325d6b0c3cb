// Nothing says what kind of array is fetched before it is written.

use thalweg::prelude::*;

#[kernel(threads = 64)]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut tile = block.shared::<[f32; 64]>();
    let ahead = block.fetch(|i| x[i]);
    block.fill_fetched(&mut tile, &ahead);
    y.put(block.index(), 1.0);
}

fn main() {}
