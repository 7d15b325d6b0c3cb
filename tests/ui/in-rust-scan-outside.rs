// What a scan gives each thread is read outside of a phase.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let sums = block.scan(|t| x[t.rank()], |a, b| a + b);
    y.put(block.index(), sums[block.threads() - 1]);
}

fn main() {}
