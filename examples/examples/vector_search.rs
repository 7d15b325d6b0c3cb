//! Finds the nearest of many vectors, exactly. They are in a file, and may be more than the GPU holds.
//!
//! ```text
//! cargo run --release --example vector_search [VECTORS [DIMENSIONS [BUDGET]]]
//! ```
//!
//! `BUDGET` is the device memory for the chunks under way, in MiB.

use std::io::{BufWriter, Write};

use memmap2::Mmap;
use rayon::prelude::*;
use thalweg::bytemuck;
use thalweg::prelude::*;
use thalweg_kernels::{top_k, top_k_merge};
use thalweg_libraries::cublas::{self, Gemm};

// ANCHOR: search
stream_pipeline! {
    /// Finds for each query the `k` vectors with the largest inner products.
    pipeline Search {
        param dimensions: usize;
        param queries: usize;
        param k: usize;
        resident q: [f32];
        input vectors: [f32; dimensions];
        carry values: [f32; queries * k] = f32::NEG_INFINITY;
        carry indices: [u32; queries * k] = u32::MAX;
        device scores: [f32; queries];
        device top: [f32; queries * k] per chunk;
        device places: [u32; queries * k] per chunk;

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
                c.len as u32, &scores, out top as [queries, k], out places as [queries, k]);
            top_k_merge<<<queries as u32, 128>>>(
                queries as u32, k as u32, c.start as u32, &top, &places,
                &mut values, &mut indices);
        }
    }
}
// ANCHOR_END: search

/// With at most this many, a query and a vector are small beside the budget, and no length overflows.
const MOST_DIMENSIONS: usize = 1 << 16;
const QUERIES: usize = 32;
const K: usize = 10;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let parsed =
        |argument: String| argument.parse::<usize>().map_err(|error| format!("`{argument}`: {error}"));
    let numbers = std::env::args().skip(1).map(parsed).collect::<Result<Vec<_>, _>>()?;
    let number = |index: usize, default| numbers.get(index).copied().unwrap_or(default);
    let (count, dimensions, budget) = (number(0, 50_000), number(1, 64), number(2, 4).saturating_mul(MIB));
    if count >= u32::MAX as usize {
        return Err("more vectors than indices of 32 bits tell apart".into());
    }
    if dimensions == 0 || dimensions > MOST_DIMENSIONS {
        return Err(format!("`{dimensions}`: a vector has 1 to {MOST_DIMENSIONS} dimensions").into());
    }

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

    let device = Device::open()?;
    let mut search = Search::options(&device).budget(budget).build()?;
    let (mut values, mut indices) = (vec![0.0; QUERIES * K], vec![0; QUERIES * K]);
    let (best, places) = (&mut values, &mut indices);
    let report = search.run(dimensions, QUERIES, K, &queries, vectors, best, places)?;
    // ANCHOR_END: run
    println!("{report}");

    let expected: Vec<u32> =
        queries.par_chunks(dimensions).flat_map_iter(|query| nearest(query, vectors)).collect();
    let found = indices.chunks(K).zip(expected.chunks(K));
    let hits: usize = found.map(|(got, all)| all.iter().filter(|index| got.contains(index)).count()).sum();
    println!(
        "{count} vectors of {dimensions} in {} KiB, {} KiB of them on the device at a time",
        vectors.len() * 4 / KIB,
        budget / KIB
    );
    println!("the nearest to query 0: {:?}", &indices[..K]);
    let recall = if expected.is_empty() { 1.0 } else { hits as f64 / expected.len() as f64 };
    println!("recall against a plain loop: {recall:.3}");
    Ok(())
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
