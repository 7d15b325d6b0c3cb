// A kernel in Rust prints.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    println!("{}", x[i]);
    *y = x[i];
}

fn main() {}
