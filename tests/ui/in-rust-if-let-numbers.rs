// A condition compares with numbers by a pattern.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[u32], y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    if let 1..=5 | 9 = x[i] {
        *y = 1;
    }
}

fn main() {}
