// A loop of a kernel in Rust has a value.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut n = 0;
    let found = loop {
        n += 1;
        if x[n] > 0.0 {
            break n;
        }
    };
    *y = x[found];
}

fn main() {}
