// A kernel in Rust takes a `&Vec`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &Vec<f32>, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1.0;
}

fn main() {}
