// A loop goes over a constant, whose type the macro does not see.

use thalweg::prelude::*;

const TABLE: [f32; 3] = [0.25, 0.5, 0.25];

#[kernel]
fn k(i: Index, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut sum = 0.0_f32;
    for v in TABLE {
        sum += v;
    }
    *y = sum;
}

fn main() {}
