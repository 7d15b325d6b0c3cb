// A kernel does not type-check for one of its types.

use thalweg::prelude::*;

#[kernel(T in [f32, f64])]
fn added(i: Index, a: f32, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = a + x[i];
}

fn main() {}
