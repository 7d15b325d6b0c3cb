// `get` of an array that has no name.

use thalweg::prelude::*;

#[kernel]
fn weighed(i: Index, y: &mut Own<[f32]>) {
    let index = i.get();
    let Some(y) = y.get_mut(i) else { return };
    *y = [1.0, 2.0].get(index).copied().unwrap_or(0.0);
}

fn main() {}
