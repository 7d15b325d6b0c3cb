//! Finds the nearest of many vectors, exactly. They are in a file, and may be more than the GPU holds.
//!
//! ```text
//! cargo run --release --example vector_search [VECTORS [DIMENSIONS [BUDGET]]]
//! ```
//!
//! `BUDGET` is the device memory for the chunks under way, in MiB.
//!
//! With `-- --devices all` behind it, all GPUs share the chunks.

use std::io::{BufWriter, Write};

use memmap2::Mmap;
use rayon::prelude::*;
use thalweg::bytemuck;
use thalweg::prelude::*;
use thalweg_examples::Arguments;
use thalweg_kernels::top_k;
use thalweg_libraries::cublas::{self, Gemm};

// ANCHOR: search
/// How many vectors are found for each query.
const K: usize = 10;

/// The best vectors for a query, the best one first: their inner products, and where they are. A place
/// without a vector has the index `u32::MAX`.
#[device]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
struct Best {
    values: [f32; K],
    indices: [u32; K],
}

/// No vector yet.
const NONE: Best = Best { values: [f32::NEG_INFINITY; K], indices: [u32::MAX; K] };

/// The best of two lists. Of equal products the one with the lower index comes first, so that the order in
/// which lists are merged changes nothing.
#[device]
fn merged(a: Best, b: Best) -> Best {
    let mut best = NONE;
    let (mut i, mut j) = (0, 0);
    for place in 0..K {
        if a.values[i] > b.values[j] || a.values[i] == b.values[j] && a.indices[i] <= b.indices[j] {
            best.values[place] = a.values[i];
            best.indices[place] = a.indices[i];
            i += 1;
        } else {
            best.values[place] = b.values[j];
            best.indices[place] = b.indices[j];
            j += 1;
        }
    }
    best
}

/// Merges what was found in a chunk, whose vectors begin at `first`, into the best so far.
#[kernel]
#[requires(values.len() == best.len() && indices.len() == best.len())]
fn keep_best(query: Index, first: u32, values: &[[f32; K]], indices: &[[u32; K]], best: &mut Own<[Best]>) {
    let Some(best) = best.get_mut(query) else { return };
    let mut found = Best { values: values[query], indices: indices[query] };
    for index in &mut found.indices {
        // A chunk may have fewer than `K` vectors.
        if *index != u32::MAX {
            *index += first;
        }
    }
    *best = merged(*best, found);
}

stream_pipeline! {
    /// Finds for each query the `K` vectors with the largest inner products.
    pipeline Search {
        param dimensions: usize;
        param queries: usize;
        resident q: [f32];
        input vectors: [f32; dimensions];
        carry best: [Best; queries] = NONE combine merged;
        device scores: [f32; queries];
        device values: [f32; queries * K] per chunk;
        device indices: [u32; queries * K] per chunk;

        chunk c = auto;
        stream up: high;
        stream math;

        stage load on up { copy vectors -> v; }
        stage score on math {
            call cublas::gemm_out(
                Gemm::new(queries, c.len, dimensions).transpose_b(), 1.0,
                &q, &v, out scores);
        }
        stage select on math {
            top_k<<<queries as u32, 256>>>(
                c.len as u32, &scores, out values as [queries, K], out indices as [queries, K]);
            keep_best<<<blocks(queries, 32), 32>>>(c.start as u32, &values, &indices, &mut best);
        }
    }
}
// ANCHOR_END: search

/// With at most this many, a query and a vector are small beside the budget, and no length overflows.
const MOST_DIMENSIONS: usize = 1 << 16;
const QUERIES: usize = 32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::read()?;
    let numbers = arguments.numbers()?;
    let number = |index: usize, default| numbers.get(index).copied().unwrap_or(default);
    let (count, dimensions, budget) = (number(0, 50_000), number(1, 64), number(2, 4).saturating_mul(MIB));
    if count >= u32::MAX as usize {
        return Err("more vectors than indices of 32 bits tell apart".into());
    }
    if dimensions == 0 || dimensions > MOST_DIMENSIONS {
        return Err(format!("`{dimensions}`: a vector has 1 to {MOST_DIMENSIONS} dimensions").into());
    }

    let devices = arguments.devices()?;

    // ANCHOR: run
    let mut file = BufWriter::new(tempfile::tempfile()?);
    for vector in 0..count {
        let range = vector * dimensions..(vector + 1) * dimensions;
        let components: Vec<f32> = range.map(|i| component(1, i)).collect();
        file.write_all(bytemuck::cast_slice(&components))?;
    }
    let file = file.into_inner()?;
    // SAFETY: the file has no name, so no one else changes it while it is mapped.
    let map = unsafe { Mmap::map(&file)? };
    let vectors: &[f32] = bytemuck::cast_slice(&map);
    let queries: Vec<f32> = (0..QUERIES * dimensions).map(|i| component(2, i)).collect();

    let mut search = Search::options(&devices).budget(budget).build()?;
    let mut best = [NONE; QUERIES];
    let report = search.run(dimensions, QUERIES, &queries, vectors, &mut best)?;
    // ANCHOR_END: run
    println!("{report}");

    let expected: Vec<Vec<u32>> =
        queries.par_chunks(dimensions).map(|query| nearest(query, vectors)).collect();
    let found = best.iter().zip(&expected);
    let hits: usize =
        found.map(|(best, all)| all.iter().filter(|index| best.indices.contains(index)).count()).sum();
    println!(
        "{count} vectors of {dimensions} in {} KiB, {} KiB of them on a device at a time",
        vectors.len() * 4 / KIB,
        budget / KIB
    );
    println!("the nearest to query 0: {:?}", best[0].indices);
    let sought: usize = expected.iter().map(Vec::len).sum();
    let recall = if sought == 0 { 1.0 } else { hits as f64 / sought as f64 };
    println!("recall against a plain loop: {recall:.3}");
    if hits == sought { Ok(()) } else { Err("a nearest vector is missing".into()) }
}

/// A component of a vector, in steps of 1/64 as in quantised embeddings, so that sums are exact in any order.
fn component(seed: u64, index: usize) -> f32 {
    // SplitMix64, Steele et al., 2014.
    let mut x = (seed << 40 | index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x >> 57) as f32 - 64.0) / 64.0
}

/// The indices of the `K` vectors with the largest inner products; of equal ones, those that come first.
fn nearest(query: &[f32], vectors: &[f32]) -> Vec<u32> {
    let product = |vector: &[f32]| -> f32 { vector.iter().zip(query).map(|(x, q)| x * q).sum() };
    let mut all: Vec<_> = vectors.chunks(query.len()).map(product).zip(0_u32..).collect();
    all.sort_by(|(a, i), (b, j)| b.total_cmp(a).then(i.cmp(j)));
    all.truncate(K);
    all.into_iter().map(|(_, index)| index).collect()
}
