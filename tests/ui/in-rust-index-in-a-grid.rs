// A thread of a grid of two axes is asked for its index.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    block.each(|t| {
        let Some(y) = y.get_mut(t.index()) else { return };
        *y = x[t.rank()];
    });
}

fn main() {}
