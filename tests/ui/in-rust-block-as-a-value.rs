// A block is passed to a function.

use thalweg::prelude::*;

#[device]
fn at(n: usize, x: u32) -> u32 {
    x + n as u32
}

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let sum = block.reduce(|t| at(&block, x[t.rank()]), |a, b| a + b);
    y.put(block.index(), sum);
}

fn main() {}
