// A kernel in Rust has a `match` of an `Option`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    match x.get(3) {
        Some(v) => *y = *v,
        None => *y = 0.0,
    }
}

fn main() {}
