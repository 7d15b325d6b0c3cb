// A part of an idiom stands alone.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = *x.get(i.get() + 1).unwrap_or(&0.0);
}

fn main() {}
