// A scan is in a phase.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    block.each(|t| {
        let sums = block.scan(|u| x[u.rank()], |a, b| a + b);
        if let Some(y) = y.get_mut(t.index()) {
            *y = sums[t];
        }
    });
}

fn main() {}
