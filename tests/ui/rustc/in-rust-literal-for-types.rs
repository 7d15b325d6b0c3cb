// A literal without a type is passed to a function for several types.

use thalweg::prelude::*;

#[device(T in [f32, f64])]
fn twice<T>(x: T) -> T {
    x + x
}

#[kernel]
fn k(i: Index, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = twice(0.5);
}

fn main() {}
