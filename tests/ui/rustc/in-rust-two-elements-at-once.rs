// A thread takes its element twice.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Own<[f32]>) {
    let Some(own) = y.get_mut(i) else { return };
    let Some(again) = y.get_mut(i) else { return };
    *own += x[i];
    *again += x[i];
}

fn main() {}
