// A kernel in blocks takes any element while it combines two values.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &mut Own<[f32]>, y: &mut Out<[f32]>) {
    let sum = block.reduce(|t| t.rank() as f32, |a, b| a + b + unsafe { *x.any(0) });
    y.put(block.index(), sum);
}

fn main() {}
