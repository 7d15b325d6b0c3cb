// A kernel in Rust is generic.

use thalweg::prelude::*;

#[kernel]
fn k<T: Pod>(i: Index, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
