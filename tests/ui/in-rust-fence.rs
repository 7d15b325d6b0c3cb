// A fence, in place of the order of an access.

use std::sync::atomic::{self, AtomicU32, Ordering::*};

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, flags: &[AtomicU32], y: &mut Own<[u32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += 1;
    atomic::fence(Release);
    flags[i].store(1, Relaxed);
}

fn main() {}
