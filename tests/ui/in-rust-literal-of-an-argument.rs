// The type of a literal follows from the parameter of a function.

use thalweg::prelude::*;

#[device]
fn sum(x: [f32; 2]) -> f32 {
    x[0] + x[1]
}

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = sum([0.5, 0.5]);
}

fn main() {}
