// A function of kernels in Rust takes an `Own`.

use thalweg::prelude::*;

#[device]
fn double(i: Index, y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y *= 2.0;
}

fn main() {}
