// A block fetches in a phase, which each thread runs by itself.

use thalweg::prelude::*;

#[kernel(threads = 64)]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    block.each(|_| {
        let _ahead = block.fetch::<[f32; 64]>(|i| x[i]);
    });
    y.put(block.index(), 1.0);
}

fn main() {}
