// Each thread has a share of what is fetched in registers, and nothing says how large it is.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut tile = block.shared::<[f32; 64]>();
    let ahead = block.fetch::<[f32; 64]>(|i| x[i]);
    block.fill_fetched(&mut tile, &ahead);
    y.put(block.index(), 1.0);
}

fn main() {}
