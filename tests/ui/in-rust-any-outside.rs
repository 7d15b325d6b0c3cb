// A kernel in blocks takes any element outside of its phases.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, y: &mut Own<[f32]>) {
    unsafe { *y.any_mut(0) = 1.0 };
    block.each(|t| unsafe { *y.any_mut(t.rank()) = 2.0 });
}

fn main() {}
