//! The largest scores of each row.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use thalweg::kernel::AtomicF32;
use thalweg::prelude::*;

use crate::shape::product;

/// The most that a list holds, and how many candidates a block has room for: at least twice as many as it keeps.
const MOST: usize = 1024;
const ROOM: usize = 2 * MOST;

/// The least room that is used: less would be full too often.
const LEAST: u32 = 512;

/// The scores that a thread has under way at the same time.
const AT_ONCE: usize = 8;

/// The `k` largest scores of each row and where they are: `scores` is `[rows, columns]`; `values` and
/// `indices` become `[rows, k]`, the largest score first, and its column.
///
/// It is exact and the same on every device. Equal scores, `0.0` and `-0.0` among them, are in the order
/// of their columns. NaN comes after every number, `-inf` included. The scores keep their bits. Where a
/// row has fewer than `k` columns, the rest is `-inf` with the index `u32::MAX`, after everything else.
/// `k` goes from 1 to 1,024.
///
/// With [`struct@top_k_merge`] the rows may be longer than the GPU's memory, a chunk being some of their
/// columns:
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::{matmul, top_k, top_k_merge, transpose};
///
/// stream_pipeline! {
///     /// Finds for each query the `k` vectors with the largest inner products: exact search in any
///     /// number of vectors.
///     pipeline Search {
///         param dimensions: u32;
///         param queries: u32;
///         param k: u32;
///         resident q: [f32];
///         input vectors: [f32; dimensions as usize];
///         carry values: [f32; (queries * k) as usize] = f32::NEG_INFINITY;
///         carry indices: [u32; (queries * k) as usize] = u32::MAX;
///         device turned: [f32; dimensions as usize];
///         device scores: [f32; queries as usize];
///         device top: [f32; (queries * k) as usize] per chunk;
///         device places: [u32; (queries * k) as usize] per chunk;
///         chunk c = auto;
///         stage load { copy vectors -> v; }
///         stage score {
///             transpose<<<(blocks(c.len, 32), blocks(dimensions as usize, 32)), 256>>>(
///                 &v, out turned as [1, dimensions as usize, c.len]);
///             matmul<<<(blocks(c.len, 128), blocks(queries as usize, 128)), 256>>>(
///                 dimensions, &q, &turned, out scores as [queries as usize, c.len]);
///         }
///         stage select {
///             top_k<<<queries, 256>>>(
///                 c.len as u32, &scores, out top as [queries as usize, k as usize],
///                 out places as [queries as usize, k as usize]);
///             top_k_merge<<<queries, 128>>>(
///                 queries, k, c.start as u32, &top, &places, &mut values, &mut indices);
///         }
///     }
/// }
///
/// let vectors = [1.0, 0.0, 0.0, 1.0, 3.0, 4.0, 5.0, 5.0, -1.0, 9.0];
/// let (mut values, mut indices) = ([0.0; 4], [0; 4]);
/// let device = Device::simulated(Simulation::default());
/// let mut search = Search::options(&device).chunk(2).build()?;
/// search.run(2, 2, 2, &[1.0, 0.0, 0.5, 0.5], &vectors, &mut values, &mut indices)?;
/// assert_eq!(indices, [3, 2, 3, 4]);
/// assert_eq!(values, [5.0, 3.0, 5.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// The shape of `values` and of `indices` stands at the launch. A block works on a row. One block a row and 256 threads
/// are best; any grid and any number of threads along x does all of the work. A block reads each score once, and sorts
/// only those that pass the `k`-th of those before: scores in no particular order are fastest, and scores that rise
/// along the row are slowest. Few rows leave most of the GPU idle.
#[kernel]
#[allow(clippy::needless_range_loop, reason = "a number is a place in an array, a column and a bit")]
#[requires(values.shape() == indices.shape())]
#[requires(0 < values.shape()[1] && values.shape()[1] <= 1024)]
#[requires(values.shape()[0].saturating_mul(columns as usize) <= scores.len())]
pub fn top_k(
    block: Block<2>,
    columns: u32,
    scores: &[f32],
    values: &mut Out<[f32]>,
    indices: &mut Out<[u32]>,
) {
    let [_, k] = block.shape(values);
    let (columns, threads) = (columns as usize, block.threads());
    // The sort counts in 32 bits, which takes fewer instructions.
    let step = threads as u32;
    // The candidates, and how many places were asked for.
    let keys = block.shared::<[AtomicU64; ROOM]>();
    let mut asked = block.shared::<[AtomicU32; 1]>();
    let mut room = LEAST;
    while (room as usize) < 2 * k {
        room *= 2;
    }
    for row in block.rows(values) {
        let from = &scores[row.get() * columns..(row.get() + 1) * columns];
        let columns = from.len();
        // What comes before this is a candidate: the k-th of those before, once so many have been sorted.
        let mut threshold = 0_u64;
        // Bits for the thread's candidates that have no place yet.
        let mut waiting = block.private(0_u32);
        let mut start = 0;
        block.fill(&mut asked, |_| 0);
        loop {
            let mut is_full = block.any(|t| {
                let mut read = [0.0_f32; AT_ONCE];
                #[unroll]
                for i in 0..AT_ONCE {
                    let column = start + i * threads + t.rank();
                    read[i] = if column < columns { from[column] } else { 0.0 };
                }
                let mut without = 0_u32;
                #[unroll]
                for i in 0..AT_ONCE {
                    let column = start + i * threads + t.rank();
                    let candidate = key(rated(read[i]), column as u32);
                    if column < columns && candidate > threshold {
                        let place = asked[0].fetch_add(1, Relaxed);
                        if place < room {
                            keys[place as usize].store(candidate, Relaxed);
                        } else {
                            without |= 1 << i;
                        }
                    }
                }
                waiting[t] = without;
                without > 0
            });
            start += AT_ONCE * threads;
            let is_last = start >= columns;
            while is_full || is_last {
                let count = block.reduce(|_| asked[0].load(Relaxed), |a, b| a.max(b)).min(room);
                // A bitonic sort, the largest first, of a power of two: what is missing is less than any key.
                let mut size = 1;
                while size < count {
                    size *= 2;
                }
                block.each(|t| {
                    let mut at = count + t.rank() as u32;
                    while at < size {
                        keys[at as usize].store(0, Relaxed);
                        at += step;
                    }
                });
                let mut run = 2;
                while run <= size {
                    let mut distance = run / 2;
                    while distance > 1 {
                        // Two steps at once, so that half as many barriers are needed.
                        let half = distance / 2;
                        block.each(|t| {
                            let mut quad = t.rank() as u32;
                            while quad < size / 4 {
                                let first = 4 * quad - 3 * (quad & (half - 1));
                                let [second, third] = [first + half, first + distance];
                                let falls = first & run == 0;
                                let (a, b) =
                                    (keys[first as usize].load(Relaxed), keys[second as usize].load(Relaxed));
                                let c = keys[third as usize].load(Relaxed);
                                let d = keys[(third + half) as usize].load(Relaxed);
                                let ([a, c], [b, d]) = (ordered(a, c, falls), ordered(b, d, falls));
                                let ([a, b], [c, d]) = (ordered(a, b, falls), ordered(c, d, falls));
                                keys[first as usize].store(a, Relaxed);
                                keys[second as usize].store(b, Relaxed);
                                keys[third as usize].store(c, Relaxed);
                                keys[(third + half) as usize].store(d, Relaxed);
                                quad += step;
                            }
                        });
                        distance /= 4;
                    }
                    if distance == 1 {
                        block.each(|t| {
                            let mut first = 2 * t.rank() as u32;
                            while first < size {
                                let (one, other) = (first as usize, first as usize + 1);
                                let [a, b] = ordered(
                                    keys[one].load(Relaxed),
                                    keys[other].load(Relaxed),
                                    first & run == 0,
                                );
                                keys[one].store(a, Relaxed);
                                keys[other].store(b, Relaxed);
                                first += 2 * step;
                            }
                        });
                    }
                    run *= 2;
                }
                if !is_full {
                    block.fill(&mut values.row(row), |i| {
                        if i < count as usize {
                            from[index_of(keys[i].load(Relaxed)) as usize]
                        } else {
                            f32::NEG_INFINITY
                        }
                    });
                    block.fill(&mut indices.row(row), |i| {
                        if i < count as usize { index_of(keys[i].load(Relaxed)) } else { u32::MAX }
                    });
                    break;
                }
                // The first k stay. Some of those that wait may still come before the last of them.
                threshold = block.reduce(|_| keys[k - 1].load(Relaxed), |a, b| a.max(b));
                block.fill(&mut asked, |_| k as u32);
                is_full = block.any(|t| {
                    let mut without = waiting[t];
                    #[unroll(1)]
                    for i in 0..AT_ONCE {
                        if without >> i & 1 == 1 {
                            let column = start - (AT_ONCE - i) * threads + t.rank();
                            let candidate = key(rated(from[column]), column as u32);
                            let is_one = candidate > threshold;
                            let place = if is_one { asked[0].fetch_add(1, Relaxed) } else { 0 };
                            if is_one && place < room {
                                keys[place as usize].store(candidate, Relaxed);
                            }
                            if !is_one || place < room {
                                without ^= 1 << i;
                            }
                        }
                    }
                    waiting[t] = without;
                    without > 0
                });
            }
            if is_last {
                break;
            }
        }
    }
}

/// A score as a number that is larger the earlier the score comes: 1 for NaN; 0 is left for places without a score.
#[device]
fn rated(score: f32) -> u32 {
    if score.is_nan() {
        return 1;
    }
    let bits = if score == 0.0 { 0 } else { score.to_bits() };
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

/// A rated score and its index as one number, larger the earlier it comes. Those of different indices differ, so that
/// the order of a sort does not depend on where the keys were before.
#[device]
fn key(rating: u32, index: u32) -> u64 {
    (rating as u64) << 32 | !index as u64
}

/// The index in a key.
#[device]
fn index_of(key: u64) -> u32 {
    !(key as u32)
}

/// Two keys, the larger first where a run falls, and last where it rises.
#[device]
fn ordered(a: u64, b: u64, falls: bool) -> [u64; 2] {
    if (a < b) == falls { [b, a] } else { [a, b] }
}

/// Merges a list of the `k` largest for each row into another one: `best_values` and `best_indices`
/// become the `k` largest of both. All are `[rows, k]`, as [`struct@top_k`] makes them.
///
/// `offset` is added to `indices`: the column at which the chunk that was searched begins. Entries with
/// the index `u32::MAX` are empty, so a list of `-inf` and `u32::MAX` is the empty one to start from; an
/// index and the offset together must stay below `u32::MAX` (they are added modulo 2^32). Equal scores
/// are in the order of their indices, and where those are equal too, the one that was there comes first. Empty entries
/// come last, as `-inf`.
/// If a list is not sorted, the result is some of the values and some of the indices, which need not
/// belong together. [`struct@top_k`] has an example.
///
/// One block a row and about `k` threads are best, or 32 if `k` is less; any number of blocks and of threads does all of
/// the work.
#[kernel]
#[requires(k <= 1024)]
#[requires(product([rows, k]) <= values.len())]
#[requires(product([rows, k]) <= indices.len())]
#[requires(product([rows, k]) <= best_values.len())]
#[requires(product([rows, k]) <= best_indices.len())]
#[allow(clippy::too_many_arguments, reason = "two lists, each with its indices, and their sizes")]
pub fn top_k_merge(
    block: Block,
    rows: u32,
    k: u32,
    offset: u32,
    values: &[f32],
    indices: &[u32],
    best_values: &[AtomicF32],
    best_indices: &[AtomicU32],
) {
    if k == 0 {
        return;
    }
    let (rows, k) = (rows as usize, k as usize);
    // Of short lists a block merges several at once, so that few of its threads have nothing to do.
    let at_once = (block.threads().min(MOST) / k).max(1);
    let best = block.shared::<[AtomicU64; MOST]>();
    let more = block.shared::<[AtomicU64; MOST]>();
    // Bits for the zeros among the best that are negative: a key does not tell. Those of other scores are not used.
    let mut negative = block.shared::<[AtomicU32; MOST / 32]>();
    block.fill(&mut negative, |_| 0);
    for first in (block.index().get() * at_once..rows).step_by(block.blocks() * at_once) {
        let (from, len) = (first * k, at_once.min(rows - first) * k);
        let (values, indices) = (&values[from..from + len], &indices[from..from + len]);
        let (best_values, best_indices) = (&best_values[from..from + len], &best_indices[from..from + len]);
        block.each(|t| {
            for i in t.of_block(len) {
                let (score, index) = (best_values[i].load(Relaxed), best_indices[i].load(Relaxed));
                let (other, place) = (values[i], indices[i]);
                let moved = if place == u32::MAX { place } else { place.wrapping_add(offset) };
                best[i].store(key_of_entry(score, index), Relaxed);
                more[i].store(key_of_entry(other, moved), Relaxed);
                if score == 0.0 {
                    let bit = 1_u32 << (i % 32);
                    if score.to_bits() == NEGATIVE_ZERO {
                        negative[i / 32].fetch_or(bit, Relaxed);
                    } else {
                        negative[i / 32].fetch_and(!bit, Relaxed);
                    }
                }
            }
        });
        block.each(|t| {
            for i in t.of_block(len) {
                // Where the list begins.
                let start = if at_once > 1 { i as u32 / k as u32 * k as u32 } else { 0 };
                // So many of the best come before this place; the others there come from the other list.
                let (mut low, mut high) = (start, i as u32);
                while low < high {
                    let middle = (low + high) / 2;
                    let other = start + i as u32 - 1 - middle;
                    if best[middle as usize].load(Relaxed) >= more[other as usize].load(Relaxed) {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                let other = start + i as u32 - low;
                let (mine, theirs) = (best[low as usize].load(Relaxed), more[other as usize].load(Relaxed));
                let entry = if mine >= theirs { mine } else { theirs };
                let mut score = score_of((entry >> 32) as u32);
                if score == 0.0 {
                    let is_negative = if mine >= theirs {
                        negative[low as usize / 32].load(Relaxed) >> (low % 32) & 1 == 1
                    } else {
                        values[other as usize].to_bits() == NEGATIVE_ZERO
                    };
                    score = f32::from_bits(if is_negative { NEGATIVE_ZERO } else { 0 });
                }
                best_values[i].store(score, Relaxed);
                best_indices[i].store(index_of(entry), Relaxed);
            }
        });
    }
}

/// The bits of `-0.0`.
const NEGATIVE_ZERO: u32 = 1 << 31;

/// The key of an entry of a list; that of an empty one comes last.
#[device]
fn key_of_entry(score: f32, index: u32) -> u64 {
    if index == u32::MAX { 0 } else { key(rated(score), index) }
}

/// The score that has this rating, of the zeros the positive one.
#[device]
fn score_of(rating: u32) -> f32 {
    match rating {
        0 => f32::NEG_INFINITY,
        1 => f32::NAN,
        _ if rating >> 31 == 1 => f32::from_bits(rating ^ 1 << 31),
        _ => f32::from_bits(!rating),
    }
}
