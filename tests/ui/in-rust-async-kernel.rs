// A kernel in Rust is `async`.

use thalweg::prelude::*;

#[kernel]
async fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
