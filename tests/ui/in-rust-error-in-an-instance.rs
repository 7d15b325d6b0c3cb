// A kernel is wrong for one of its types.

use thalweg::prelude::*;

#[kernel(T in [u32, f32])]
fn halves(i: Index, x: &[T], y: &mut Out<[T]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i].rotate_right(1);
}

fn main() {}
