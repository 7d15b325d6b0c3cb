// A warp exchanges values in a phase, which each thread runs by itself.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    block.each(|t| {
        let others = block.shuffle_xor(|u| x[u.rank()], 1);
        if let Some(y) = y.get_mut(t.index()) {
            *y = others[t];
        }
    });
}

fn main() {}
