// A kernel in Rust asks for `None`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    if let None = x.get(3) {
        return;
    }
    *y = x[i];
}

fn main() {}
