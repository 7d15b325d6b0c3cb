// A loop is unrolled by no turn.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[u32], y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut sum = 0;
    #[unroll(0)]
    for value in x {
        sum ^= *value;
    }
    *y = sum;
}

fn main() {}
