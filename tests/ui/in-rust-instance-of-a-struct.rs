// A kernel is for a type that is no number.

use thalweg::prelude::*;

#[kernel(T in [f32, String])]
fn scaled(i: Index, a: T, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a * x[i];
}

fn main() {}
