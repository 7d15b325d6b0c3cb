// A kernel in Rust makes a struct.

use thalweg::prelude::*;

struct Pair {
    a: f32,
    b: f32,
}

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let pair = Pair { a: x[i], b: 1.0 };
    *y = pair.a + pair.b;
}

fn main() {}
