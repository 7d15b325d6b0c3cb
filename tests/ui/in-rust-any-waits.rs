// A thread waits for an element that another one writes.

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, y: &mut Own<[u32]>) {
    if i.get() == 1 {
        // SAFETY: none: the other thread reads it meanwhile.
        unsafe { *y.any_mut(0) = 1 };
    }
    // SAFETY: none, as above.
    while unsafe { *y.any(0) } == 0 {}
}

fn main() {}
