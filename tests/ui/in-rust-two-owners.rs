// Elements of one parameter belong to blocks and to threads.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Own<[f32]>) {
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            if let Some(y) = y.get_mut(i) {
                *y = x[i];
            }
        }
    });
    y.put(block.index(), 0.0);
}

fn main() {}
