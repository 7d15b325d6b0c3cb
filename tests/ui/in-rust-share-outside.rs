// The share of a thread is used outside of a `for`.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let sum = block.reduce(|t| t.of_grid(x.len()).map(|i| x[i]).sum(), |a: f32, b| a + b);
    y.put(block.index(), sum);
}

fn main() {}
