// A kernel takes any element and does not say `unsafe`.

use thalweg::prelude::*;

#[kernel]
pub fn k(i: Index, x: &[u32], y: &mut Own<[u32]>) {
    *y.any_mut(x[i] as usize) = *x.get_unchecked(0);
}

fn main() {}
