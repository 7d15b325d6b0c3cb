// A thread goes over the elements of all threads.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Own<[f32]>) {
    for v in y.iter_mut() {
        *v += x[i];
    }
}

fn main() {}
