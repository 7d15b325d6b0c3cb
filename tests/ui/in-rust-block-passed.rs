// A function has a phase, and the kernel passes it the block.

use thalweg::prelude::*;

#[device]
fn sum(block: Block, x: &[f32]) -> f32 {
    block.reduce(|t| x[t.rank()], |a, b| a + b)
}

fn main() {}
