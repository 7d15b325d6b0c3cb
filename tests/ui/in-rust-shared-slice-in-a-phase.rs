// A slice of shared memory is made by each thread.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, n: usize, y: &mut Out<[f32]>) {
    block.each(|t| {
        let part = block.shared_slice::<f32>(n);
        let Some(y) = y.get_mut(t.index()) else { return };
        *y = part[0];
    });
}

fn main() {}
