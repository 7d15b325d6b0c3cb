//! Kernels with shared memory of the launch, which two programs of tests run: on the simulated device, and as C++ on
//! the host.
#![allow(dead_code, reason = "not every kernel is run by both")]

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use thalweg::half::f16;
use thalweg::kernel::AtomicF64;
use thalweg::prelude::*;

// ANCHOR: means
/// The mean of each element and `radius` neighbours on either side, 0 beyond the ends.
#[kernel]
pub(crate) fn means(block: Block, radius: usize, x: &[f32], y: &mut Out<[f32]>) {
    let mut near = block.shared_slice::<f32>(block.threads() + 2 * radius);
    let first = block.index().get() * block.threads();
    block.fill(&mut near, |i| {
        let at = first + i;
        if at >= radius && at - radius < x.len() { x[at - radius] } else { 0.0 }
    });
    block.each(|t| {
        let Some(y) = y.get_mut(t.index()) else { return };
        let mut sum = 0.0;
        for x in &near[t.rank()..t.rank() + 2 * radius + 1] {
            sum += x;
        }
        *y = sum / (2 * radius + 1) as f32;
    });
}
// ANCHOR_END: means

/// Slices of several types one after the other, some of which have their memory for a time only.
#[kernel]
pub(crate) fn several(block: Block, n: usize, x: &[u8], y: &mut Out<[u64]>) {
    let mut bytes = block.shared_slice::<u8>(n);
    let mut wide = block.shared_slice::<u64>(block.threads());
    block.fill(&mut bytes, |i| x[i % x.len()]);
    block.fill(&mut wide, |i| i as u64 * 3);
    let mut sum = block.private(0_u64);
    for turn in 0..3 {
        let mut counts = block.shared_slice::<AtomicU32>(turn + 4);
        block.fill(&mut counts, |_| 0);
        block.each(|t| {
            for i in t.of_block(n) {
                counts[bytes[i] as usize % counts.len()].fetch_add(1, Relaxed);
            }
        });
        if turn % 2 == 0 {
            let mut floats = block.shared_slice::<AtomicF64>(1);
            block.fill(&mut floats, |_| 0.5);
            block.each(|t| {
                floats[0].fetch_max(t.rank() as f64, Relaxed);
            });
            block.each(|t| sum[t] += floats[0].load(Relaxed) as u64);
        }
        block.each(|t| sum[t] = sum[t] * 31 + u64::from(counts[t.rank() % counts.len()].load(Relaxed)));
    }
    let mut half = block.shared_slice::<f16>(5);
    block.fill(&mut half, |i| f16::from_f32(i as f32 * 0.25));
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = sum[t] + wide[t.rank()] + u64::from(half[t.rank() % 5].to_bits());
        }
    });
}

/// The bytes of each type that `several` needs at once, for so many bytes and threads.
pub(crate) fn bytes_of_several(n: usize, threads: usize) -> usize {
    let wide = n.next_multiple_of(8) + 8 * threads;
    // The third turn has six counts and a float behind them; the halves come after the turns.
    (wide + 6 * 4).next_multiple_of(8) + 8
}

#[device]
fn sum_of(x: &[i32]) -> i32 {
    let mut sum = 0;
    for x in x {
        sum += *x;
    }
    sum
}

/// All that is done with slices: they are passed, cut and gone over.
#[kernel]
pub(crate) fn used(block: Block, n: usize, y: &mut Out<[i32]>) {
    let mut a = block.shared_slice::<i32>(n);
    let mut b = block.shared_slice::<i32>(a.len() / 2 + 1);
    block.fill(&mut a, |i| i as i32 - 3);
    block.fill(&mut b, |i| a[a.len() - 1 - i] * 2);
    let total = block.reduce(
        |t| {
            let mut sum = 0;
            for i in t.of_block(b.len()) {
                sum += b[i];
            }
            sum
        },
        |a, b| a + b,
    );
    block.each(|t| {
        let Some(y) = y.get_mut(t.index()) else { return };
        let part = &a[1..];
        *y = sum_of(&a) * 1000 + sum_of(&b[..1]) * 100 + total + part.len() as i32;
        if let Some(v) = b.get(t.rank()) {
            *y += *v;
        }
        for (i, v) in b.iter().enumerate() {
            *y ^= *v << (i % 5);
        }
    });
}

/// As many copies of a counter for each of four bins as the launch has room for, added up; none without any.
#[kernel]
pub(crate) fn copies(block: Block, x: &[u8], counts: &[AtomicU32]) {
    let copies = (block.shared_bytes() / 16).min(8);
    if copies == 0 {
        block.each(|t| {
            for i in t.of_grid(x.len()) {
                counts[x[i] as usize % 4].fetch_add(1, Relaxed);
            }
        });
        return;
    }
    let mut held = block.shared_slice::<AtomicU32>(4 * copies);
    block.fill(&mut held, |_| 0);
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            held[x[i] as usize % 4 + t.rank() % copies * 4].fetch_add(1, Relaxed);
        }
    });
    block.each(|t| {
        for b in t.of_block(4) {
            let mut count = 0;
            for copy in 0..copies {
                count += held[copy * 4 + b].load(Relaxed);
            }
            counts[b].fetch_add(count, Relaxed);
        }
    });
}

/// The second slice is read where nothing has written it.
#[kernel]
pub(crate) fn unfilled(block: Block, y: &mut Out<[u32]>) {
    let mut first = block.shared_slice::<u32>(4);
    block.fill(&mut first, |_| 7);
    let second = block.shared_slice::<u32>(4);
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = first[t.rank()] ^ second[t.rank()];
        }
    });
}

/// Asks for two slices; the sum of the second.
#[kernel]
pub(crate) fn asks(block: Block, first: usize, second: usize, y: &mut Out<[u64]>) {
    let mut before = block.shared_slice::<u8>(first);
    block.fill(&mut before, |i| i as u8);
    let mut words = block.shared_slice::<u64>(second);
    block.fill(&mut words, |i| i as u64);
    y.put(block.index(), block.reduce(|t| words[t.rank() % second] + u64::from(before[0]), |a, b| a + b));
}

/// The lines of the two slices in `asks`.
pub(crate) const ASKS: [u32; 2] = [160, 162];
pub(crate) const FILE: &str = file!();

/// Turns each block's numbers around in shared memory. With `read`, threads look at what others turn.
#[kernel]
pub(crate) fn turned(block: Block, read: bool, x: &[u32], y: &mut Out<[u32]>) {
    let mut part = block.shared_slice::<u32>(block.threads());
    let first = block.index().get() * block.threads();
    block.fill(&mut part, |i| x[first + i]);
    block.each(|t| {
        let (i, j) = (t.rank(), part.len() - 1 - t.rank());
        if i < j {
            // SAFETY: no other thread has these two, if none reads.
            unsafe {
                let (a, b) = (*part.any(i), *part.any(j));
                *part.any_mut(i) = b;
                *part.any_mut(j) = a;
            }
        } else if read {
            assert!(part[j] < 1000);
        }
    });
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = part[t.rank()];
        }
    });
}
