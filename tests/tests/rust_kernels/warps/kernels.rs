//! Kernels with operations of warps.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use thalweg::half::bf16;
use thalweg::prelude::*;

// ANCHOR: appended
/// Appends the elements that are greater than `least` to `kept`, of which `next` counts those that are taken. A warp
/// asks once for the places of all its threads.
#[kernel]
pub(crate) fn appended(block: Block, least: f32, x: &[f32], next: &[AtomicU32], kept: &mut Own<[f32]>) {
    let chosen = block.ballot(|t| t.index().get() < x.len() && x[t.index()] > least);
    let first = block.shuffle(
        |t| if t.lane() == 0 { next[0].fetch_add(chosen[t].count_ones(), Relaxed) } else { 0 },
        |_| 0,
    );
    block.each(|t| {
        let (own, lane) = (t.index().get(), t.lane() as u32);
        if chosen[t] >> lane & 1 == 1 {
            let before = (chosen[t] & ((1 << lane) - 1)).count_ones();
            // SAFETY: each bit of each warp has its own place.
            unsafe { *kept.any_mut((first[t] + before) as usize) = x[own] };
        }
    });
}
// ANCHOR_END: appended

/// What each thread gets by each operation.
#[kernel]
pub(crate) fn exchanged(block: Block, by: usize, x: &[u32], y: &mut Own<[[u32; 10]]>) {
    let first = block.index().get() * block.threads();
    let own = block.shuffle_up(|t| x[first + t.rank()], 0);
    let count = block.warp_reduce(|_| 1_usize, |a, b| a + b);
    let of_any = block.shuffle(|t| own[t], |t| own[t] as usize % count[t]);
    let up = block.shuffle_up(|t| own[t], by);
    let down = block.shuffle_down(|t| own[t], by);
    let across = block.shuffle_xor(|t| own[t], by);
    let odd = block.ballot(|t| own[t] % 2 == 1);
    let any = block.warp_any(|t| own[t] % 61 == 0);
    let all = block.warp_all(|t| own[t] % 61 > 0);
    let greatest = block.warp_reduce(|t| own[t], |a, b| a.max(b));
    let sums = block.warp_scan(|t| own[t], |a, b| a.wrapping_mul(3).wrapping_add(b));
    block.each(|t| {
        let Some(y) = y.get_mut(t.index()) else { return };
        y[0] = of_any[t];
        y[1] = up[t];
        y[2] = down[t];
        y[3] = across[t];
        y[4] = odd[t];
        y[5] = any[t] as u32 + 2 * all[t] as u32;
        y[6] = greatest[t];
        y[7] = sums[t];
        y[8] = (t.warp() * 100 + t.lane()) as u32;
        y[9] = count[t] as u32;
    });
}

/// Values of other sizes.
#[kernel]
pub(crate) fn of_sizes(block: Block, x: &[f64], y: &mut Own<[[f64; 4]]>) {
    let first = block.index().get() * block.threads();
    let sum = block.warp_reduce(|t| x[first + t.rank()], |a, b| a + b);
    let halves = block.shuffle_xor(|t| bf16::from_f32(x[first + t.rank()] as f32), 3);
    let pairs = block.shuffle_down(|t| (x[first + t.rank()] as i8, [t.rank(); 2]), 1);
    let mut product = block.warp_scan(|t| x[first + t.rank()] as f32, |a, b| a * b);
    block.each(|t| {
        product[t] += 1.0;
        let Some(y) = y.get_mut(t.index()) else { return };
        *y = [sum[t], halves[t].to_f64(), pairs[t].0 as f64 + pairs[t].1[1] as f64, product[t] as f64];
    });
}

/// The lane of the thread `fails` does not exist.
#[kernel]
pub(crate) fn beyond(block: Block, fails: u32, lane: usize, x: &[u32], y: &mut Own<[u32]>) {
    let values = block.shuffle(|t| x[t.rank()], |t| if t.rank() as u32 == fails { lane } else { 0 });
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = values[t];
        }
    });
}
