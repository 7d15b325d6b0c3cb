// A phase begins in another.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    block.each(|t| {
        let largest = block.reduce(|u| x[u.rank()], |a, b| a.max(b));
        if let Some(y) = y.get_mut(t.index()) {
            *y = x[t.rank()] / largest;
        }
    });
}

fn main() {}
