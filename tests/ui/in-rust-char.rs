// A kernel in Rust has a `char`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let letter = 'x';
    *y = letter as u8 as f32;
}

fn main() {}
