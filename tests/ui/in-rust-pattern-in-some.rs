// A pattern inside of `Some` takes a reference apart.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    if let Some(&v) = x.get(3) {
        *y = v;
    }
}

fn main() {}
