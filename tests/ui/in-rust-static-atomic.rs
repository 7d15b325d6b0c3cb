// A kernel changes an atomic of the host's program.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use thalweg::prelude::*;

static COUNT: AtomicU32 = AtomicU32::new(0);

#[kernel]
fn k(i: Index, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    COUNT.fetch_add(1, Relaxed);
    *y = x[i];
}

fn main() {}
