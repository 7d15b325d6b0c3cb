//! The histogram of bytes in Rust. The crate has the one in CUDA C++, which is faster.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use thalweg::prelude::*;

/// `thalweg_kernels::histogram_u8` in blocks of 256 threads. It reads byte by byte, since `x` may begin anywhere.
#[kernel(threads = 256)]
#[requires(n as usize <= x.len())]
#[requires(counts.len() >= 256)]
pub fn histogram_u8(block: Block, n: u32, x: &[u8], counts: &[AtomicU32]) {
    // Copies of the bins in shared memory, as by hand.
    const COPIES: usize = 8;
    // The bytes that a thread has under way while it counts as many before them, and those of a block.
    const EACH: usize = 8;
    const SHARE: usize = 2048;
    let mut bins = block.shared_padded::<[[AtomicU32; 256]; COPIES], 1>();
    block.fill(&mut bins, |_| 0);
    let x = &x[..n as usize];
    let (first, blocks) = (block.index().get(), block.blocks());
    block.each(|t| {
        let copy = t.rank() % COPIES;
        let shares = x.len() / SHARE;
        let mut bytes = [0_u32; EACH];
        if first < shares {
            let from = first * SHARE;
            let share = &x[from..from + SHARE];
            #[unroll]
            for k in 0..EACH {
                bytes[k] = u32::from(share[(k * 256 + t.rank()) % SHARE]);
            }
        }
        for number in (first..shares).step_by(blocks) {
            let now = bytes;
            let next = number + blocks;
            if next < shares {
                let from = next * SHARE;
                let share = &x[from..from + SHARE];
                #[unroll]
                for k in 0..EACH {
                    bytes[k] = u32::from(share[(k * 256 + t.rank()) % SHARE]);
                }
            }
            #[unroll]
            for k in 0..EACH {
                bins[copy][now[k] as usize & 255].fetch_add(1, Relaxed);
            }
        }
        let rest = &x[shares * SHARE..];
        for i in t.of_grid(rest.len()) {
            bins[copy][usize::from(rest[i]) & 255].fetch_add(1, Relaxed);
        }
    });
    block.each(|t| {
        for value in t.of_block(256) {
            let mut count = 0;
            for copy in 0..COPIES {
                count += bins[copy][value].load(Relaxed);
            }
            if count > 0 {
                counts[value].fetch_add(count, Relaxed);
            }
        }
    });
}
