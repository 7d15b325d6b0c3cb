// A thread waits for what another one writes.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[f32], sum: &[AtomicU32], done: &[AtomicU32], y: &mut Out<[u32]>) {
    sum[0].fetch_add((x[i] > 0.0) as u32, Relaxed);
    done[0].fetch_add(1, Release);
    while (done[0].load(Acquire) as usize) < x.len() {}
    let Some(y) = y.get_mut(i) else { return };
    *y = sum[0].load(Relaxed);
}

fn main() {}
