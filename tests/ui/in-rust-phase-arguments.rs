// A phase has too few arguments, and another is a function in place of a closure.

use thalweg::prelude::*;

#[kernel]
fn sums(block: Block, x: &[f32], sums: &mut Out<[f32]>) {
    let first = block.reduce(|t| x[t.rank()]);
    let second = block.reduce(|t| x[t.rank()], f32::max);
    sums.put(block.index(), first + second);
}

fn main() {}
