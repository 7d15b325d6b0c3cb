// A loop of a kernel in Rust goes over a range without an end.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    for n in 0.. {
        if x[n] > 0.0 {
            break;
        }
    }
    *y = x[i];
}

fn main() {}
