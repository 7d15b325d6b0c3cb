// A kernel in Rust collects into a `Vec`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut found = Vec::new();
    found.push(x[i]);
    *y = found[0];
}

fn main() {}
