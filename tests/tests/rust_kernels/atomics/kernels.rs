//! Kernels with atomics, which two programs of tests run: on the simulated device, and as C++ on the host.
#![allow(dead_code, reason = "not every kernel is run by both")]

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU64};

use thalweg::kernel::{AtomicF32, AtomicF64};
use thalweg::prelude::*;

// ANCHOR: histogram
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Adds to `counts[v]` how often the byte `v` is in `x`.
#[kernel]
pub(crate) fn histogram(block: Block, x: &[u8], counts: &[AtomicU32]) {
    let mut bins = block.shared::<[AtomicU32; 256]>();
    block.fill(&mut bins, |_| 0);
    block.each(|t| {
        for i in t.of_grid(x.len()) {
            bins[x[i] as usize].fetch_add(1, Relaxed);
        }
    });
    block.each(|t| {
        for b in t.of_block(256) {
            counts[b].fetch_add(bins[b].load(Relaxed), Relaxed);
        }
    });
}
// ANCHOR_END: histogram

// ANCHOR: tops
/// The greatest element, and in `kept` those of at least `least`, in any order.
#[kernel]
pub(crate) fn tops(
    i: Index,
    x: &[f32],
    least: f32,
    greatest: &[AtomicF32],
    next: &[AtomicU32],
    kept: &[AtomicF32],
) {
    let Some(x) = x.get(i.get()) else { return };
    greatest[0].fetch_max(*x, Relaxed);
    if *x >= least {
        let place = next[0].fetch_add(1, Relaxed) as usize;
        kept[place].store(*x, Relaxed);
    }
}
// ANCHOR_END: tops

/// All methods of integers, each thread's on an atomic of its own, so that the results are known.
macro_rules! of_integers {
    ($($kernel:ident $atomic:ident $number:ident),*) => {$(
        #[kernel]
        pub(crate) fn $kernel(i: Index, x: &[[$number; 2]], own: &[$atomic], found: &mut Out<[[$number; 14]]>) {
            let Some(found) = found.get_mut(i) else { return };
            let ([a, b], at) = (x[i], &own[i]);
            found[0] = at.fetch_add(a, Relaxed);
            found[1] = at.fetch_sub(b, Ordering::Acquire);
            found[2] = at.fetch_xor(a, Release);
            found[3] = at.fetch_and(b, AcqRel);
            found[4] = at.fetch_or(a, SeqCst);
            found[5] = at.fetch_min(b, Relaxed);
            found[6] = at.fetch_max(a, Relaxed);
            found[7] = at.swap(b, AcqRel);
            at.store(a, Release);
            at.store(a.wrapping_mul(3), SeqCst);
            found[8] = at.load(Acquire);
            if let Ok(was) = at.compare_exchange(a, 7, AcqRel, Acquire) {
                found[9] = was;
            } else {
                found[9] = 1;
            }
            let Err(now) = own[i].compare_exchange(found[8].wrapping_add(1), b, SeqCst, Relaxed) else { return };
            found[10] = now;
            let last = at.compare_exchange(now, b, Relaxed, SeqCst);
            found[11] = if last.is_ok() && !last.is_err() { 5 } else { 6 };
            found[12] = at.load(SeqCst);
            // A loop that ends when nobody else has come between.
            let mut old = 0;
            while let Err(now) = at.compare_exchange(old, old ^ 9, Relaxed, Relaxed) {
                old = now;
            }
            found[13] = at.load(Relaxed);
        }
    )*};
}
of_integers!(of_u32 AtomicU32 u32, of_i32 AtomicI32 i32, of_u64 AtomicU64 u64, of_i64 AtomicI64 i64);

/// The same of floats.
macro_rules! of_floats {
    ($($kernel:ident $atomic:ident $number:ident),*) => {$(
        #[kernel]
        pub(crate) fn $kernel(i: Index, x: &[[$number; 2]], own: &[$atomic], found: &mut Out<[[$number; 8]]>) {
            let Some(found) = found.get_mut(i) else { return };
            let ([a, b], at) = (x[i], &own[i]);
            found[0] = at.fetch_add(a, Relaxed);
            found[1] = at.fetch_sub(b, AcqRel);
            found[2] = at.fetch_min(a, Relaxed);
            found[3] = at.fetch_max(b, SeqCst);
            found[4] = at.swap(a * 0.3, Relaxed);
            let now = at.load(Relaxed);
            found[5] = match at.compare_exchange(now, b, AcqRel, Relaxed).is_ok() {
                true => 1.0,
                false => 2.0,
            };
            found[6] = at.load(Acquire);
            at.store(-0.0, Relaxed);
            found[7] = if at.compare_exchange(0.0, 5.0, Relaxed, Relaxed).is_err() { 3.0 } else { 4.0 };
        }
    )*};
}
of_floats!(of_f32 AtomicF32 f32, of_f64 AtomicF64 f64);

/// All methods of shared atomics, and the threads of a block that change one together.
#[kernel]
pub(crate) fn shared(block: Block, x: &[i64], totals: &[AtomicI64], floats: &mut Out<[f64]>) {
    const ROWS: usize = 2;
    let cells = block.shared::<[[AtomicI64; 3]; ROWS]>();
    let mut sums = block.shared::<[AtomicF64; 3]>();
    block.fill(&mut sums, |i| i as f64);
    block.each(|t| {
        if t.rank() == 0 {
            for row in 0..ROWS {
                for cell in cells[row].iter() {
                    cell.store(0, Relaxed);
                }
            }
            cells[0][1].store(i64::MAX, Relaxed);
        }
    });
    block.each(|t| {
        let v = x[t.rank()];
        cells[0][0].fetch_add(v, Relaxed);
        cells[0][1].fetch_min(v, Relaxed);
        cells[0][2].fetch_max(v, Relaxed);
        cells[1][0].fetch_or(1 << (v & 31), Relaxed);
        cells[1][1].fetch_xor(v, Relaxed);
        let mut seen = cells[1][2].load(Relaxed);
        while let Err(now) = cells[1][2].compare_exchange(seen, seen.max(v) + 1, Relaxed, Relaxed) {
            seen = now;
        }
        // Sums of halves are exact in any order.
        sums[0].fetch_add(v as f64 * 0.5, Relaxed);
        sums[1].fetch_min(v as f64, Relaxed);
        sums[2].fetch_max(v as f64, Relaxed);
    });
    let sum = block.reduce(|t| if t.rank() < 3 { sums[t.rank()].load(Relaxed) } else { 0.0 }, |a, b| a + b);
    floats.put(block.index(), sum);
    block.each(|t| {
        for at in t.of_block(5) {
            totals[at].fetch_add(cells[at / 3][at % 3].load(Relaxed), Relaxed);
        }
        // How far the last one comes depends on the order, but not whether it has come there.
        if t.rank() == 0 && cells[1][2].load(Relaxed) >= cells[0][2].load(Relaxed) {
            totals[5].fetch_add(1, Relaxed);
        }
    });
}

#[device]
fn pair(a: u32, b: u32) -> u32 {
    a * 100 + b
}

/// Raises an atomic up to a limit, and says by how much it grew before.
#[device]
fn raised(at: &AtomicU32, by: u32) -> u32 {
    at.fetch_add(by, Relaxed)
}

/// The index of the set of an element, whose chain another thread may shorten meanwhile.
#[device]
fn root(parents: &[AtomicU32], of: usize) -> usize {
    let mut at = of;
    while parents[at].load(Relaxed) as usize != at {
        at = parents[at].load(Relaxed) as usize;
    }
    at
}

/// Accesses in one expression come in the order in which they are written.
#[kernel]
pub(crate) fn in_order(i: Index, x: &[u32], own: &[AtomicU32], found: &mut Out<[[u32; 8]]>) {
    let Some(found) = found.get_mut(i) else { return };
    let at = &own[i];
    found[0] = pair(at.fetch_add(1, Relaxed), at.fetch_add(2, Relaxed));
    found[1] = at.fetch_add(40, Relaxed) + at.load(Relaxed) / 9;
    let (first, second) = (at.load(Relaxed), at.swap(3, Relaxed));
    found[2] = first * 1000 + second;
    found[3] = x[at.fetch_add(1, Relaxed) as usize] + at.fetch_add(at.load(Relaxed), Relaxed);
    found[4] = pair(raised(at, 5), raised(&own[i], at.load(Relaxed)));
    let all = [at.fetch_or(64, Relaxed), at.load(Relaxed), at.fetch_and(15, Relaxed)];
    found[5] = all[0] + 10 * all[1] + 100 * all[2];
    found[6] = if at.load(Relaxed) > 3 && at.fetch_add(1, Relaxed) > 3 { at.load(Relaxed) } else { 0 };
    at.store(i.get() as u32, Release);
    found[7] = root(own, i.get()) as u32;
}

/// The outcome of an exchange is matched.
#[kernel]
pub(crate) fn matched(i: Index, x: &[u32], own: &[AtomicU32], found: &mut Out<[[u32; 4]]>) {
    let Some(found) = found.get_mut(i) else { return };
    let at = &own[i];
    found[0] = match at.compare_exchange(x[i], 100, Relaxed, Relaxed) {
        Ok(was) => was + 1000,
        Err(now) => now + 2000,
    };
    match at.compare_exchange(100, 7, AcqRel, Acquire) {
        Err(now) => found[1] = now,
        Ok(_) => found[1] = at.load(Relaxed) + 500,
    }
    let mut old = x[i];
    let mut turns = 0;
    found[2] = loop {
        match at.compare_exchange(old, old * 3, SeqCst, SeqCst) {
            Ok(_) => break turns,
            Err(now) => old = now,
        }
        turns += 1;
    };
    found[3] = 9;
    match at.compare_exchange(0, 5, Relaxed, Relaxed) {
        Ok(was) => found[3] = was,
        _ => found[3] += 1,
    }
}

/// A thread changes an atomic in shared memory. The array is written in the first blocks alone.
#[kernel]
pub(crate) fn unwritten(block: Block, written: usize, at: usize, y: &mut Out<[u32]>) {
    let mut counts = block.shared::<[AtomicU32; 16]>();
    if block.index().get() < written {
        block.fill(&mut counts, |_| 0);
    }
    block.each(|t| {
        if t.rank() == 5 {
            counts[at].fetch_add(1, Relaxed);
        }
    });
    let sum = block.reduce(|t| if t.rank() == 0 { counts[at].load(Relaxed) } else { 0 }, |a, b| a + b);
    y.put(block.index(), sum);
}
/// The line of the change in `unwritten`.
pub(crate) const UNWRITTEN: u32 = 238;

/// An atomic of an array of arrays, and one of a slice, of which a `store` writes the first.
#[kernel]
pub(crate) fn unwritten_rows(block: Block, at: usize, of_slice: bool, y: &mut Out<[u64]>) {
    let counts = block.shared::<[[AtomicU64; 4]; 3]>();
    let slice = block.shared_slice::<AtomicU64>(4);
    block.each(|t| {
        if t.rank() == 0 {
            counts[0][0].store(7, Relaxed);
            slice[0].store(5, Relaxed);
        }
    });
    let sum = block.reduce(
        |t| match t.rank() {
            0 if of_slice => slice[at].swap(1, Relaxed),
            0 => counts[at / 4][at % 4].load(Relaxed),
            _ => 0,
        },
        |a, b| a + b,
    );
    y.put(block.index(), sum);
}
