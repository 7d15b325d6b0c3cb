// A loop over the elements but the first.

use thalweg::prelude::*;

#[kernel]
fn added(i: Index, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    for (_, v) in x.iter().enumerate().skip(1) {
        *y += v;
    }
}

fn main() {}
