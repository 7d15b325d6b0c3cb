// A condition of a kernel in Rust has a `let` among others.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    if let Some(v) = x.get(3) && x[i] > 0.0 {
        *y = *v;
    }
}

fn main() {}
