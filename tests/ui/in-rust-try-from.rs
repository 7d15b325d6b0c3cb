// A kernel in Rust converts by `try_from`.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, n: u32, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let narrow = u8::try_from(n).unwrap();
    *y = x[narrow as usize];
}

fn main() {}
