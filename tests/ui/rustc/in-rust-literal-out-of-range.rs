// A literal of a kernel in Rust does not fit its type.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mask: u8 = 256;
    *y = x[mask as usize];
}

fn main() {}
