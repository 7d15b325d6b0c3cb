// A kernel in Rust has a `static` inside.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    static HALF: f32 = 0.5;
    *y = HALF * x[i];
}

fn main() {}
