// A kernel in Rust uses `?`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let first = x.get(0)?;
    *y = *first;
}

fn main() {}
