// A variable of the block is changed in a phase.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut sum = 0.0_f32;
    block.each(|t| sum += x[t.rank()]);
    y.put(block.index(), sum);
}

fn main() {}
