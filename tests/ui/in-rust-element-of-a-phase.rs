// Elements of others are written in a phase and by a block: the help is that of kernels in blocks.

use thalweg::prelude::*;

#[kernel]
fn written(block: Block, x: &[f32], y: &mut Out<[f32]>, sums: &mut Out<[f32]>) {
    block.each(|thread| y[thread.rank()] = x[thread.rank()]);
    block.each(|thread| {
        if let Some(y) = y.get_mut(thread.rank() + 1) {
            *y = x[0];
        }
    });
    sums[block.index().get()] = x[0];
}

fn main() {}
