// An atomic has the name of another one.

use std::sync::atomic::AtomicI32 as AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use thalweg::prelude::*;

#[kernel]
fn k(i: Index, counts: &[AtomicU32]) {
    counts[i].fetch_max(counts[0].load(Relaxed), Relaxed);
}

fn main() {}
