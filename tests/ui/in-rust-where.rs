// A kernel in Rust has a `where` clause.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>)
where
    f32: Copy,
{
    let Some(y) = y.get_mut(i) else { return };
    *y = x[i];
}

fn main() {}
