// A phase is a closure with a name.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let value = |t| x[0];
    y.put(block.index(), block.reduce(value, |a, b| a + b));
}

fn main() {}
