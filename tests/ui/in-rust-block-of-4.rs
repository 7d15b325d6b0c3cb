// A block is of a grid with four axes.

use thalweg::prelude::*;

#[kernel]
fn k(block: Block<4>, y: &mut Out<[f32]>) {
    for row in block.rows(y) {
        block.fill(&mut y.row(row), |c| c as f32);
    }
}

fn main() {}
