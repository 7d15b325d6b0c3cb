// Two elements of an array are exchanged by a method.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut pair = [x[0], x[i]];
    pair.swap(0, 1);
    *y = pair[0];
}

fn main() {}
