// A kernel of an `Index` asks for shared memory.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut part = i.shared::<[f32; 64]>();
    *y = x[i] + part[0];
}

fn main() {}
