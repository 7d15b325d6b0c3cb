// A kernel in Rust takes the bits of a number for those of another type.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = unsafe { std::mem::transmute(x[i]) };
}

fn main() {}
