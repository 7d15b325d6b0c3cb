// A function for several types is called with another one.

use thalweg::prelude::*;

#[device(T in [f32, f64])]
fn twice<T>(x: T) -> T {
    x + x
}

#[kernel]
fn k(i: Index, x: &[u8], y: &mut Out<[u8]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = twice(x[i]);
}

fn main() {}
