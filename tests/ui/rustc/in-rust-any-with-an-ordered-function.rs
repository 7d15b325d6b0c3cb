// A function orders what a kernel writes to any element.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Release;

use thalweg::prelude::*;

#[device]
fn count(done: &AtomicU32) {
    done.fetch_add(1, Release);
}

#[kernel]
fn k(i: Index, places: &[u32], done: &[AtomicU32], y: &mut Own<[u32]>) {
    // SAFETY: no number is in `places` twice.
    unsafe { *y.any_mut(places[i] as usize) = 1 };
    count(&done[0]);
}

fn main() {}
