// The threads of a block would have an index of another.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, y: &mut Own<[u32]>) {
    let last = block.reduce(|t| t.index(), |_, b| b);
    block.each(|t| {
        if let Some(y) = y.get_mut(last) {
            *y += t.rank() as u32;
        }
    });
}

fn main() {}
