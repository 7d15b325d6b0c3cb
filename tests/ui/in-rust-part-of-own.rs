// A thread takes a part of the elements of all threads.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Own<[f32]>) {
    let row = &mut y[4..8];
    row[0] += x[i];
}

fn main() {}
