// A thread reads an element that is not its own.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Own<[f32]>) {
    let Some(own) = y.get_mut(i) else { return };
    *own += x[i] * y[0];
}

fn main() {}
