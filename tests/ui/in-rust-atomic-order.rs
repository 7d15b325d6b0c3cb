// Orders that accesses cannot have, and one that is not written.

use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, flags: &[AtomicU32], counts: &[AtomicI32]) {
    let order = Ordering::Relaxed;
    flags[0].store(counts[i].load(Ordering::Release) as u32, Ordering::AcqRel);
    counts[i].fetch_add(1, order);
    let found = counts[i].compare_exchange(0, 1, Ordering::AcqRel, Ordering::Release);
}

fn main() {}
