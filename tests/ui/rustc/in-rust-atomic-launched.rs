// A launch passes atomics by `&`.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use thalweg::prelude::*;

#[kernel]
fn k(i: Index, x: &[u8], counts: &[AtomicU32]) {
    let Some(x) = x.get(i.get()) else { return };
    counts[*x as usize].fetch_add(1, Relaxed);
}

stream_pipeline! {
    pipeline P {
        input x: [u8];
        resident counts: [u32];
        chunk c = 32;
        stage all {
            copy x -> dx;
            k<<<1, 32>>>(&dx, &counts);
        }
    }
}

fn main() {}
