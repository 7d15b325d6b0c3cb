// A phase would change a variable of the block by a reference.

use thalweg::prelude::*;

#[device]
fn add(sum: &mut u32, x: u32) {
    *sum += x;
}

#[kernel]
fn k(block: Block, x: &[u32], y: &mut Out<[u32]>) {
    let mut sum = 0_u32;
    let total = &mut sum;
    block.each(|t| add(total, x[t.rank()]));
    y.put(block.index(), sum);
}

fn main() {}
