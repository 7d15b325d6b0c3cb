// A part is written that a pattern has borrowed.

use thalweg::prelude::*;

#[kernel]
fn doubled(i: Index, y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut pairs = [(*y, 1.0_f32), (2.0, 3.0)];
    for (a, b) in &mut pairs {
        *a *= 2.0;
    }
    *y = pairs[0].0;
}

fn main() {}
