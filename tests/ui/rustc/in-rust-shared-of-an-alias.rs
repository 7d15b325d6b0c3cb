// A shared array of arrays, whose second axis stands under a name.

use thalweg::prelude::*;

type Row = [f32; 4];

#[kernel]
fn k(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let mut rows = block.shared::<[Row; 8]>();
    block.fill(&mut rows, |[r, c]| x[r * 4 + c]);
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = rows[t.rank() % 8][0];
        }
    });
}

fn main() {}
