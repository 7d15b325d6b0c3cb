//! The largest scores of each row.

use std::cmp::Reverse;

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::shape::product;

/// Candidates that a row's search holds for each place in its result, at most.
const ROOM: usize = 4;

#[kernels("../cu/top_k.cu")]
unsafe extern "CUDA" {
    /// The `k` largest scores of each row and where they are: `scores` is `[rows, columns]`; `values` and
    /// `indices` become `[rows, k]`, the largest score first, and its column.
    ///
    /// It is exact and the same on every device. Equal scores, `0.0` and `-0.0` among them, are in the order
    /// of their columns. NaN comes after every number, `-inf` included. The scores keep their bits. Where a
    /// row has fewer than `k` columns, the rest is `-inf` with the index `u32::MAX`, after everything else.
    /// `k` goes from 1 to 1,024.
    ///
    /// With [`top_k_merge`] the rows may be longer than the GPU's memory, a chunk being some of their
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
    ///             top_k<<<queries, 256>>>(queries, c.len as u32, k, &scores, out top, out places);
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
    /// A block works on a row. One block a row and 256 threads are best; any grid and block does all of the
    /// work. A block reads each score once, and sorts only those that pass the `k`-th of those before: scores
    /// in no particular order are fastest, and scores that rise along the row are slowest. Few rows leave
    /// most of the GPU idle.
    #[host(top_k_on_host)]
    #[requires(0 < k)]
    #[requires(k <= 1024)]
    #[requires(product([rows, columns]) <= scores.len())]
    #[requires(product([rows, k]) <= values.len())]
    #[requires(product([rows, k]) <= indices.len())]
    pub safe fn top_k(
        rows: u32,
        columns: u32,
        k: u32,
        scores: &[f32],
        values: Out<[f32]>,
        indices: Out<[u32]>,
    );

    /// Merges a list of the `k` largest for each row into another one: `best_values` and `best_indices`
    /// become the `k` largest of both. All are `[rows, k]`, as [`top_k`] makes them.
    ///
    /// `offset` is added to `indices`: the column at which the chunk that was searched begins. Entries with
    /// the index `u32::MAX` are empty, so a list of `-inf` and `u32::MAX` is the empty one to start from; an
    /// index and the offset together must stay below `u32::MAX` (they are added modulo 2^32). Equal scores
    /// are in the order of their indices, and where those are equal too, the one that was there comes first.
    /// If a list is not sorted, the result is some of the values and some of the indices, which need not
    /// belong together. [`top_k`] has an example.
    ///
    /// One block a row and about `k` threads are best; any grid and block does all of the work.
    #[host(top_k_merge_on_host)]
    #[requires(k <= 1024)]
    #[requires(product([rows, k]) <= values.len())]
    #[requires(product([rows, k]) <= indices.len())]
    #[requires(product([rows, k]) <= best_values.len())]
    #[requires(product([rows, k]) <= best_indices.len())]
    pub safe fn top_k_merge(
        rows: u32,
        k: u32,
        offset: u32,
        values: &[f32],
        indices: &[u32],
        best_values: &mut [f32],
        best_indices: &mut [u32],
    );
}

/// A place in a list: a score's rating, then its index; `0` is none. The larger comes first.
type Key = (u32, Reverse<u32>);

/// A score as a number that is larger the earlier the score comes: 1 for NaN; 0 is left for places without a
/// score.
fn rated(score: f32) -> u32 {
    if score.is_nan() {
        return 1;
    }
    let bits = if score == 0.0 { 0 } else { score.to_bits() };
    if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
}

fn key(score: f32, index: u32) -> Key {
    (if index == u32::MAX { 0 } else { rated(score) }, Reverse(index))
}

fn top_k_on_host(
    _: Grid,
    rows: u32,
    columns: u32,
    k: u32,
    scores: &[f32],
    values: &mut [f32],
    indices: &mut [u32],
) {
    let (rows, columns, k) = (rows as usize, columns as usize, k as usize);
    let lists = values[..rows * k].par_chunks_mut(k).zip(indices[..rows * k].par_chunks_mut(k));
    lists.enumerate().for_each(|(row, (values, indices))| {
        let scores = &scores[row * columns..][..columns];
        let best = largest(scores, k);
        values[best.len()..].fill(f32::NEG_INFINITY);
        indices[best.len()..].fill(u32::MAX);
        for ((_, Reverse(index)), (value, place)) in best.into_iter().zip(values.iter_mut().zip(indices)) {
            *value = scores[index as usize];
            *place = index;
        }
    });
}

/// The keys of the `k` largest scores, or of all if they are fewer, in order.
fn largest(scores: &[f32], k: usize) -> Vec<Key> {
    let room = ROOM * k;
    let mut found: Vec<Key> = Vec::with_capacity(room.min(scores.len()));
    let mut threshold = 0;
    for (&score, index) in scores.iter().zip(0..) {
        // A score that equals the threshold has an index above those of all k that are at least as large.
        if rated(score) <= threshold {
            continue;
        }
        found.push(key(score, index));
        if found.len() == room {
            let (_, &mut (last, _), _) = found.select_nth_unstable_by_key(k - 1, |&key| Reverse(key));
            threshold = last;
            found.truncate(k);
        }
    }
    found.sort_unstable_by_key(|&key| Reverse(key));
    found.truncate(k);
    found
}

#[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
fn top_k_merge_on_host(
    _: Grid,
    rows: u32,
    k: u32,
    offset: u32,
    values: &[f32],
    indices: &[u32],
    best_values: &mut [f32],
    best_indices: &mut [u32],
) {
    let (elements, k) = (product([rows, k]), k as usize);
    if elements == 0 {
        return;
    }
    let best = best_values[..elements].par_chunks_mut(k).zip(best_indices[..elements].par_chunks_mut(k));
    let more = values.par_chunks(k).zip(indices.par_chunks(k));
    best.zip(more).for_each(|((best_values, best_indices), (values, indices))| {
        let moved = |&index: &u32| if index == u32::MAX { index } else { index.wrapping_add(offset) };
        let more: Vec<_> = values.iter().copied().zip(indices.iter().map(moved)).collect();
        let best: Vec<_> = best_values.iter().copied().zip(best_indices.iter().copied()).collect();
        let (mut from_best, mut from_more) = (0, 0);
        for (value, index) in best_values.iter_mut().zip(best_indices) {
            // Each list has k entries, and no more than k are taken from both.
            let (mine, theirs) = (best[from_best], more[from_more]);
            let mine_first = key(mine.0, mine.1) >= key(theirs.0, theirs.1);
            (*value, *index) = if mine_first { mine } else { theirs };
            from_best += usize::from(mine_first);
            from_more += usize::from(!mine_first);
        }
    });
}
