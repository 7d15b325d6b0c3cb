// A kernel in Rust takes a struct.

use thalweg::prelude::*;

struct Point(f32, f32);

#[kernel]
fn k(i: Index, at: Point, y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y = 1.0;
}

fn main() {}
