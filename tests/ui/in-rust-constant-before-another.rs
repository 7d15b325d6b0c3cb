// A constant of a body is written above one that it names.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, y: &mut Out<[u32]>) {
    const TWICE: u32 = 2 * ONCE;
    const ONCE: u32 = 4;
    let Some(y) = y.get_mut(i) else { return };
    *y = TWICE;
}

fn main() {}
