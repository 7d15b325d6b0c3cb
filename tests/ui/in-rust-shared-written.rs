// An element of a shared array is written.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let mut counts = block.shared::<[u32; 64]>();
    block.fill(&mut counts, |_| 0);
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            counts[x[i] as usize % 64] += 1;
        }
    });
    y.put(block.index(), block.reduce(|t| counts[t.rank()], |a, b| a.max(b)));
}

fn main() {}
