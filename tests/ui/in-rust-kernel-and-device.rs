// A function has both `#[kernel]` and `#[device]`.

use thalweg::prelude::*;

#[kernel]
#[device]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
