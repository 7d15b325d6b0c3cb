// A `while` is to be unrolled.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, y: &mut Out<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let mut n = i.get();
    #[unroll]
    while n > 1 {
        n /= 2;
    }
    *y = n as u32;
}

fn main() {}
