// Shared memory is to hold what is no number.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut seen = block.shared::<[bool; 64]>();
    block.fill(&mut seen, |i| x[i] > 0.0);
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = if seen[t.rank()] { 1.0 } else { 0.0 };
        }
    });
}

fn main() {}
