// The test of a ballot changes a variable of the block.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let mut count = 0_u32;
    let odd = block.ballot(|t| {
        count += 1;
        x[t.rank()] % 2 == 1
    });
    let most = block.reduce(|t| odd[t].count_ones(), |a, b| a.max(b));
    y.put(block.index(), most + count);
}

fn main() {}
