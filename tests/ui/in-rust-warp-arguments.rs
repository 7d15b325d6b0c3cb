// How far a shuffle goes is missing.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let before = block.shuffle_up(|t| x[t.rank()]);
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = before[t];
        }
    });
}

fn main() {}
