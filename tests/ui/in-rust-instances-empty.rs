// A kernel is for no type.

use thalweg::prelude::*;

#[kernel(T in [])]
fn scaled(i: Index, a: T, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a * x[i];
}

fn main() {}
