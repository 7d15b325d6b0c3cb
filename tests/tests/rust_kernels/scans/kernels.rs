//! Kernels with scans.

use thalweg::half::f16;
use thalweg::prelude::*;

// ANCHOR: running
/// The sum of the elements up to each, of those that the block's threads have.
#[kernel]
#[requires(x.len() == y.len())]
pub(crate) fn running(block: Block, x: &[f32], y: &mut Out<[f32]>) {
    let sums = block.scan(|t| if t.index().get() < x.len() { x[t.index()] } else { 0.0 }, |a, b| a + b);
    block.each(|t| {
        let Some(y) = y.get_mut(t.index()) else { return };
        *y = sums[t];
    });
}
// ANCHOR_END: running

// ANCHOR: selected
/// The elements of each part of `x` that are greater than `least`, in their order at the begin of that part of
/// `kept`, and their number. A block has a part.
#[kernel]
#[requires(x.len() == kept.len())]
pub(crate) fn selected(
    block: Block,
    part: usize,
    least: f32,
    x: &[f32],
    kept: &mut Own<[f32]>,
    counts: &mut Out<[u32]>,
) {
    let first = block.index().get() * part;
    let (mut from, mut next) = (first, first);
    while from < first + part {
        let is_kept = |at: usize| at < first + part && at < x.len() && x[at] > least;
        let (places, after) =
            block.scan_exclusive(next, |t| usize::from(is_kept(from + t.rank())), |a, b| a + b);
        block.each(|t| {
            if is_kept(from + t.rank()) {
                // SAFETY: the threads of the block that keep something have different places, in its part.
                unsafe { *kept.any_mut(places[t]) = x[from + t.rank()] };
            }
        });
        from += block.threads();
        next = after;
    }
    counts.put(block.index(), (next - first) as u32);
}
// ANCHOR_END: selected

/// Maps `v -> a * v + b`, one after another: the order matters. `y` has those up to each thread, the threads
/// before it, and all, in groups of three.
#[kernel]
pub(crate) fn maps(block: Block, x: &[u32], y: &mut Own<[[u32; 3]]>) {
    let map = |i: usize| (x[i] | 1, x[i] >> 16);
    let first = block.index().get() * block.threads();
    let through = block.scan(
        |t| map(first + t.rank()),
        |f, g| (f.0.wrapping_mul(g.0), g.0.wrapping_mul(f.1).wrapping_add(g.1)),
    );
    let both = block.scan_exclusive(
        (3_u32, 5_u32),
        |t| map(first + t.rank()),
        |f, g| (f.0.wrapping_mul(g.0), g.0.wrapping_mul(f.1).wrapping_add(g.1)),
    );
    let all = both.1;
    block.each(|t| {
        let Some(y) = y.get_mut(t.index()) else { return };
        y[0] = through[t].0.wrapping_add(through[t].1);
        y[1] = both.0[t].0.wrapping_add(both.0[t].1);
        y[2] = all.0.wrapping_add(all.1);
    });
}

#[device]
fn greater(a: i8, b: i8) -> i8 {
    if a > b { a } else { b }
}

/// Values of other sizes. Those that a thread has are its own to change.
#[kernel]
#[allow(clippy::redundant_closure, reason = "kernels combine by closures")]
pub(crate) fn sized(block: Block, x: &[u32], y: &mut Own<[[u64; 4]]>) {
    let first = block.index().get() * block.threads();
    let mut greatest = block.scan(|t| x[first + t.rank()] as i8, |a, b| greater(a, b));
    let (any, _) = block.scan_exclusive(false, |t| x[first + t.rank()] % 37 == 5, |a, b| a || b);
    let bytes = block.scan(
        |t| [x[first + t.rank()] as u8, 1, t.rank() as u8],
        |a, b| [a[0] ^ b[0], a[1].wrapping_add(b[1]), b[2]],
    );
    let halves = block.scan(|t| f16::from_f32((x[first + t.rank()] % 7) as f32 / 3.0), |a, b| a + b);
    let (sums, all) = block.scan_exclusive(
        u64::MAX,
        |t| x[first + t.rank()] as u64 * x[first + t.rank()] as u64,
        |a, b| a.wrapping_add(b),
    );
    block.each(|t| {
        greatest[t] = greatest[t].wrapping_sub(1);
        let Some(y) = y.get_mut(t.index()) else { return };
        let [of_xor, count, last] = bytes[t];
        y[0] = (greatest[t] as u8) as u64 * 2 + any[t] as u64;
        y[1] = of_xor as u64 + 256 * count as u64 + 65536 * last as u64;
        y[2] = halves[t].to_bits() as u64;
        y[3] = sums[t] ^ all.rotate_left(7);
    });
}

/// Threads that fail give no value to those after them.
#[kernel]
pub(crate) fn failing(block: Block, x: &[u32], y: &mut Own<[u32]>) {
    let sums = block.scan(|t| x[t.rank()], |a, b| a + b);
    let (before, all) = block.scan_exclusive(0, |t| sums[t], |a, b| a ^ b);
    block.each(|t| {
        if let Some(y) = y.get_mut(t.index()) {
            *y = sums[t] + before[t] + all;
        }
    });
}
