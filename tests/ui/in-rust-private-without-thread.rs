// A variable of which each thread has its own is changed without the thread.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut sums = block.private(0.0_f32);
    block.each(|t| sums += x[t.rank()]);
    let sum = block.reduce(|t| sums[t], |a, b| a + b);
    y.put(block.index(), sum);
}

fn main() {}
