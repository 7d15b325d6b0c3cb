// An atomic is changed where two values are combined.

use std::sync::atomic::AtomicU32;

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[u32], steps: &[AtomicU32], y: &mut Out<[u32]>) {
    let sum = block.reduce(
        |t| x[t.rank()],
        |a, b| {
            steps[0].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            a + b
        },
    );
    y.put(block.index(), sum);
}

fn main() {}
