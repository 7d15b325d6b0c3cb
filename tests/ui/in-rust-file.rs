// `#[kernel]` names a file.

use thalweg::prelude::*;

#[kernel("saxpy.cu")]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
