// A variable of a kernel in Rust is misspelt.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let weight = 0.5;
    *y = wieght * x[i];
}

fn main() {}
