// What is written was not fetched.

use thalweg::prelude::*;

#[kernel(threads = 64)]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut tile = block.shared::<[f32; 64]>();
    let _ahead = block.fetch::<[f32; 64]>(|i| x[i]);
    block.fill_fetched(&mut tile, &x);
    y.put(block.index(), 1.0);
}

fn main() {}
