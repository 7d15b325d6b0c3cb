// A block writes an element of its data by an index.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<2>, y: &mut Out<[f32]>) {
    for at in block.tiles::<32, 32>(y) {
        block.each(|t| y[at.top() + t.rank()] = 0.0);
    }
}

fn main() {}
