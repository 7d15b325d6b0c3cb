// A barrier stands in a phase.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    block.each(|t| {
        block.sync();
        if let Some(y) = y.get_mut(t.index()) {
            *y = x[t.index()];
        }
    });
}

fn main() {}
