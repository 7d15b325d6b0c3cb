// The field of a kernel is filled with that of another.

use thalweg::prelude::*;

#[kernel]
fn bytes(i: Index, y: &mut Own<[u8]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1;
}

#[kernel]
fn words(i: Index, y: &mut Own<[u64]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1;
}

fn fill(a: &mut bytes, b: &words) {
    a.function = b.function.clone();
}

fn main() {}
