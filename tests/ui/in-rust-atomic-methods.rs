// Methods that atomics do not have, of what is no atomic, and a `match` of an exchange with a guard.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use thalweg::kernel::AtomicF32;
use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[u32], counts: &[AtomicU32], sums: &[AtomicF32]) {
    x[i].fetch_add(1, Relaxed);
    sums[0].fetch_xor(1, Relaxed);
    counts[0].fetch_update(Relaxed, Relaxed, |x| Some(x + 1));
    counts[0].compare_exchange_weak(0, 1, Relaxed, Relaxed);
    match counts[0].compare_exchange(0, 1, Relaxed, Relaxed) {
        Ok(found) if found > 3 => {}
        _ => {}
    }
    let mine = AtomicU32::new(0);
}

fn main() {}
