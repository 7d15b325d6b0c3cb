// An exclusive scan has no start.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let (before, all) = block.scan_exclusive(|t| x[t.rank()], |a, b| a + b);
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = before[t] + all;
        }
    });
}

fn main() {}
