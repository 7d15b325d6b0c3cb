// A closure of a kernel in Rust takes its parameter apart.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let sum = |(a, b): (f32, f32)| a + b;
    *y = sum((x[i], 1.0));
}

fn main() {}
