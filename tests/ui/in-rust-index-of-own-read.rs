// An element beside the thread's own is read by an index.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, y: &mut Own<[f32]>) {
    let Some(own) = y.get_mut(i) else { return };

    *own = 0.5 * (own[0] + own[1]);
}

fn main() {}
