// An order of memory has the name of another one.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst as Relaxed;
use thalweg::prelude::*;

#[kernel]
fn k(i: Index, counts: &[AtomicU32]) {
    counts[i].fetch_add(1, Relaxed);
}

fn main() {}
