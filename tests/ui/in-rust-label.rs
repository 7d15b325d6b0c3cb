// A kernel in Rust leaves a loop by its label.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    'rows: for row in 0..4 {
        for column in 0..4 {
            if x[4 * row + column] < 0.0 {
                break 'rows;
            }
        }
    }
    *y = x[i];
}

fn main() {}
