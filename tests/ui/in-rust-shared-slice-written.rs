// An element of a shared slice is written.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, n: usize, x: &[u32], y: &mut Out<[u32]>) {
    let mut counts = block.shared_slice::<u32>(n);
    block.fill(&mut counts, |_| 0);
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            counts[x[i] as usize % n] += 1;
        }
    });
    y.put(block.index(), block.reduce(|t| counts[t.rank() % n], |a, b| a.max(b)));
}

fn main() {}
