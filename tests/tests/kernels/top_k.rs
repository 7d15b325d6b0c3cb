//! `top_k` and `top_k_merge`: the simulated device is compared with sorting, and a GPU with the simulated
//! device.

use std::cmp::Ordering;

use proptest::prelude::*;
use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_kernels::{matmul, top_k, top_k_merge, transpose};
use thalweg_tests::compare::{Tolerance, assert_close, on_gpu_and_simulated};
use thalweg_tests::is;
use thalweg_tests::launches::{Dim3, LAUNCHES, Launch};
use thalweg_tests::on_a_gpu_every;
use thalweg_tests::random::Random;

type Lists = (Vec<f32>, Vec<u32>);

stream_pipeline! {
    /// An item is a row.
    pipeline Rows {
        param grid: Dim3;
        param block: Dim3;
        param shared: u32;
        param columns: u32;
        param k: u32;
        input scores: [f32; columns.max(1) as usize];
        output values: [f32; k as usize];
        output indices: [u32; k as usize];
        device d_values: [f32; k as usize];
        device d_indices: [u32; k as usize];
        chunk c = 5;
        stage load { copy scores -> d_scores; }
        stage select {
            top_k<<<(grid.0, grid.1), block.0 * block.1 * block.2, shared>>>(
                columns, &d_scores, out d_values as [c.len, k as usize], out d_indices as [c.len, k as usize]);
        }
        stage store { copy d_values -> values; copy d_indices -> indices; }
    }
}

fn rows(
    device: &Device,
    (grid, block, shared): Launch,
    [rows, columns, k]: [u32; 3],
    scores: &[f32],
) -> thalweg::Result<Lists> {
    let (mut values, mut indices) = (vec![7.0; (rows * k) as usize], vec![7; (rows * k) as usize]);
    Rows::new(device)?.run(grid, block, shared, columns, k, scores, &mut values, &mut indices)?;
    Ok((values, indices))
}

stream_pipeline! {
    /// An item is a column of the scores, with one score for each of the `rows`, the first row first. A chunk
    /// is turned into rows, and its lists go into those of all chunks before.
    pipeline Columns {
        param grid: Dim3;
        param block: Dim3;
        param rows: u32;
        param k: u32;
        input scores: [f32; rows as usize];
        carry values: [f32; (rows * k) as usize] = f32::NEG_INFINITY;
        carry indices: [u32; (rows * k) as usize] = u32::MAX;
        device turned: [f32; rows as usize];
        device top: [f32; (rows * k) as usize] per chunk;
        device places: [u32; (rows * k) as usize] per chunk;
        chunk c = auto;
        stage load { copy scores -> d_scores; }
        stage turn {
            transpose<<<grid, block.0 * block.1 * block.2>>>(
                &d_scores, out turned as [1, rows as usize, c.len]);
        }
        stage select {
            top_k<<<(grid.0, grid.1), block.0 * block.1 * block.2>>>(
                c.len as u32, &turned, out top as [rows as usize, k as usize],
                out places as [rows as usize, k as usize]);
            top_k_merge<<<grid.0 * grid.1, block.0 * block.1 * block.2>>>(
                rows, k, c.start as u32, &top, &places, &mut values, &mut indices);
        }
    }
}

fn columns(
    device: &Device,
    (grid, block, _): Launch,
    chunk: usize,
    [rows, k]: [u32; 2],
    scores: &[f32],
) -> thalweg::Result<Lists> {
    let (mut values, mut indices) = (vec![7.0; (rows * k) as usize], vec![7; (rows * k) as usize]);
    let mut pipeline = Columns::options(device).chunk(chunk).build()?;
    pipeline.run(grid, block, rows, k, scores, &mut values, &mut indices)?;
    Ok((values, indices))
}

/// The lists, by sorting each row as a whole.
fn sorted<'a>(rows: impl Iterator<Item = &'a [f32]>, k: u32) -> Lists {
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    for row in rows {
        let mut places: Vec<usize> = (0..row.len()).collect();
        // The sort is stable: equal scores stay in the order of their columns.
        places.sort_by(|&a, &b| match (row[a].is_nan(), row[b].is_nan()) {
            (false, false) => row[b].partial_cmp(&row[a]).expect("numbers"),
            (true, true) => Ordering::Equal,
            (nan, _) => {
                if nan {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
        });
        places.truncate(k as usize);
        let missing = k as usize - places.len();
        values.extend(places.iter().map(|&place| row[place]).chain(vec![f32::NEG_INFINITY; missing]));
        indices.extend(places.iter().map(|&place| place as u32).chain(vec![u32::MAX; missing]));
    }
    (values, indices)
}

fn assert_lists(found: &Lists, expected: &Lists, what: &str) {
    assert_close(&found.1, &expected.1, Tolerance::Exact, format_args!("indices, {what}"));
    assert_close(&found.0, &expected.0, Tolerance::Exact, format_args!("values, {what}"));
}

/// Kinds of scores: any bits, few different ones, rising, falling, all the same, all NaN.
const KINDS: u64 = 6;

fn scores(random: &mut Random, kind: u64, len: usize) -> Vec<f32> {
    match kind {
        0 => random.any_floats(len),
        1 => (0..len)
            .map(|_| [-0.0, 0.0, 1.0, f32::NAN, f32::NEG_INFINITY][random.below(5) as usize])
            .collect(),
        2 => (0..len).map(|i| i as f32 - 1000.0).collect(),
        3 => (0..len).map(|i| 1000.0 - i as f32).collect(),
        4 => vec![-3.5; len],
        _ => vec![f32::NAN; len],
    }
}

fn rows_of(scores: &[f32], columns: u32) -> impl Iterator<Item = &[f32]> {
    scores.chunks(columns.max(1) as usize).map(move |row| &row[..columns as usize])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn top_k_is_sorting(
        count in 0..12_u32, columns in 0..700_u32, k in 1..40_u32, many in any::<bool>(), kind in 0..KINDS,
        launch in 0..LAUNCHES.len(), seed in any::<u64>(),
    ) {
        let k = if many { 25 * k } else { k };
        let scores = scores(&mut Random::new(seed), kind, (count * columns.max(1)) as usize);
        let device = Device::simulated(Simulation::default());
        let found = rows(&device, LAUNCHES[launch], [count, columns, k], &scores).unwrap();
        let what = format!("kind {kind}, {count} x {columns}, {k}");
        assert_lists(&found, &sorted(rows_of(&scores, columns), k), &what);
    }

    #[test]
    fn lists_of_chunks_are_merged_into_those_of_all_columns(
        count in 1..6_u32, columns in 0..300_u32, k in 1..60_u32, chunk in 1..200_usize, kind in 0..KINDS,
        seed in any::<u64>(),
    ) {
        let scores = scores(&mut Random::new(seed), kind, (count * columns) as usize);
        let device = Device::simulated(Simulation::default());
        let found = self::columns(&device, LAUNCHES[0], chunk, [count, k], &scores).unwrap();
        let row = |row| scores.iter().skip(row).step_by(count as usize).copied().collect::<Vec<_>>();
        let by_rows: Vec<_> = (0..count as usize).map(row).collect();
        let what = format!("kind {kind}, {count} x {columns}, {k}, chunk {chunk}");
        assert_lists(&found, &sorted(by_rows.iter().map(|row| &row[..]), k), &what);
    }
}

stream_pipeline! {
    /// Lists that the caller gives.
    pipeline Merge {
        param count: u32;
        param k: u32;
        param offset: u32;
        input values: [f32];
        input indices: [u32];
        inout best_values: [f32];
        inout best_indices: [u32];
        chunk c = 100_000;
        stage load { copy values -> v; copy indices -> i; copy best_values -> bv; copy best_indices -> bi; }
        stage merge { top_k_merge<<<count.max(1), 64>>>(count, k, offset, &v, &i, &mut bv, &mut bi); }
        stage store { copy bv -> best_values; copy bi -> best_indices; }
    }
}

/// Two lists with all special cases, and the merge of both: equal scores, equal entries, NaN, places that no
/// score fills.
fn special_lists_are_merged(device: &Device) {
    const NONE: u32 = u32::MAX;
    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    let values = [INF, 2.0, -0.0, 0.0, -INF, NAN, -INF, -INF, 5.0];
    let indices = [4, 0, 1, 3, 2, 5, NONE, NONE, 77];
    let mut best_values = [3.0, 2.0, 0.0, -INF, -INF, NAN, -INF, -INF, 6.0];
    let mut best_indices = [9, 12, 11, 10, 99, 3, NONE, NONE, 66];
    let mut pipeline = Merge::new(device).unwrap();
    pipeline.run(1, 8, 10, &values, &indices, &mut best_values, &mut best_indices).unwrap();
    // The element beyond the list stays as it is.
    assert_eq!(best_indices, [14, 9, 10, 12, 11, 11, 13, 10, 66]);
    assert_close(&best_values, &[INF, 3.0, 2.0, 2.0, 0.0, -0.0, 0.0, -INF, 6.0], Tolerance::Exact, "values");
}

/// Lists that are not sorted do no harm: each result was in one of them.
fn unsorted_lists_do_no_harm(device: &Device) {
    let mut random = Random::new(1);
    let (values, start) = (random.floats(3000, -1.0, 1.0), random.floats(3000, -1.0, 1.0));
    let indices: Vec<u32> = (0..3000).collect();
    let (mut best_values, mut best_indices) = (start.clone(), indices.clone());
    let mut pipeline = Merge::new(device).unwrap();
    pipeline.run(3, 900, 3000, &values, &indices, &mut best_values, &mut best_indices).unwrap();
    assert!(
        best_values[..2700]
            .iter()
            .all(|value| values[..2700].contains(value) || start[..2700].contains(value))
    );
    assert!(best_indices[..2700].iter().all(|&index| index < 2700 || (3000..5700).contains(&index)));
    assert_eq!((&best_values[2700..], &best_indices[2700..]), (&start[2700..], &indices[2700..]));
}

#[test]
fn special_lists() {
    special_lists_are_merged(&Device::simulated(Simulation::default()));
    unsorted_lists_do_no_harm(&Device::simulated(Simulation::default()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn special_lists_on_a_gpu() {
    special_lists_are_merged(&Device::cuda(0).expect("a GPU"));
    unsorted_lists_do_no_harm(&Device::cuda(0).expect("a GPU"));
}

#[test]
fn what_would_leave_the_slices_is_refused() {
    let device = Device::simulated(Simulation::default());
    let (stream, kernel) = (Stream::new(&device).unwrap(), top_k::load(&device).unwrap());
    let scores = DeviceBuf::from_slice(&device, &[0.0_f32; 10]).unwrap();
    let refused = |[rows, columns, k]: [usize; 3], of_indices: [usize; 2]| {
        let mut values = DeviceBuf::<f32>::zeroed(&device, rows * k).unwrap();
        let mut indices = DeviceBuf::<u32>::zeroed(&device, of_indices.iter().product()).unwrap();
        let (values, indices) = (Shaped::new(&mut values, [rows, k]), Shaped::new(&mut indices, of_indices));
        kernel.launch(stream.config(1, 256, 0), columns as u32, &scores, values, indices).unwrap_err()
    };
    let (same, most, fits) = (
        "values.shape() == indices.shape()",
        "0 < values.shape()[1] && values.shape()[1] <= 1024",
        "values.shape()[0].saturating_mul(columns as usize) <= scores.len()",
    );
    for (sizes, of_indices, broken) in [
        ([2, 1, 3], [3, 2], same),
        ([1, 1, 0], [1, 0], most),
        ([2, 1, 1025], [2, 1025], most),
        ([11, 1, 1], [11, 1], fits),
        ([2, 6, 1], [2, 1], fits),
        ([2, u32::MAX as usize, 1], [2, 1], fits),
    ] {
        let error = refused(sizes, of_indices);
        is!(error, Requires { kernel: "top_k", condition, .. } if *condition == broken);
    }
    let mut merge = Merge::new(&device).unwrap();
    for (rows, k) in [(3, 4), (1, 1025), (11, 1)] {
        let error = merge.run(rows, k, 0, &[0.0; 10], &[0; 10], &mut [0.0; 10], &mut [0; 10]).unwrap_err();
        is!(error, Requires { kernel: "top_k_merge", .. });
    }
    merge.run(1 << 20, 0, 0, &[0.0; 10], &[0; 10], &mut [0.0; 10], &mut [0; 10]).unwrap();
}

/// A size with each kind of scores and each launch.
fn in_all_ways<T: Copy>(size: T) -> impl Iterator<Item = (T, Launch, u64)> {
    LAUNCHES.into_iter().flat_map(move |launch| (0..KINDS).map(move |kind| (size, launch, kind)))
}

/// Checks that the lists of many cases, which `run` names, are the same on a GPU and on the simulated device.
fn assert_same_lists(run: impl Fn(&Device) -> thalweg::Result<Vec<(String, Lists)>>) {
    let (gpu, simulated) = on_gpu_and_simulated(run);
    assert_eq!(gpu.len(), simulated.len());
    for ((what, gpu), (_, simulated)) in gpu.iter().zip(&simulated) {
        assert_lists(gpu, simulated, what);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn top_k_is_the_same_on_a_gpu() {
    let shapes = [
        [0, 5, 3],
        [3, 0, 4],
        [1, 1, 1],
        [7, 5, 10],
        [6, 128, 128],
        [12, 129, 128],
        [5, 1024, 100],
        [4, 5000, 1],
        [4, 5000, 1023],
        [3, 3000, 1024],
        [2, 30_000, 128],
    ];
    assert_same_lists(|device| {
        let mut random = Random::new(2);
        let mut cases = Vec::new();
        for (shape, launch, kind) in on_a_gpu_every(shapes.into_iter().flat_map(in_all_ways)) {
            let [count, columns, _] = shape;
            let scores = scores(&mut random, kind, (count * columns.max(1)) as usize);
            let what = format!("kind {kind}, {shape:?} with {launch:?}");
            cases.push((what, rows(device, launch, shape, &scores)?));
        }
        Ok(cases)
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_large_top_k_is_the_same_on_a_gpu() {
    let scores = Random::new(3).any_floats(200 * 50_000);
    let launch = ((200, 1, 1), (256, 1, 1), 0);
    assert_same_lists(|device| {
        let case = |k| Ok((format!("k {k}"), rows(device, launch, [200, 50_000, k], &scores)?));
        [1, 10, 128, 1000].into_iter().map(case).collect()
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn lists_of_chunks_are_merged_on_a_gpu() {
    assert_same_lists(|device| {
        let mut random = Random::new(4);
        let mut cases = Vec::new();
        let sizes = [(1, 1, 1000), (50, 10, 100), (7, 128, 300), (3, 1024, 999)];
        let all = sizes.into_iter().flat_map(in_all_ways);
        for ((rows, k, chunk), launch, kind) in on_a_gpu_every(all) {
            let scores = scores(&mut random, kind, rows as usize * 3001);
            let what = format!("kind {kind}, {rows} rows, {k}, chunk {chunk}, {launch:?}");
            cases.push((what, columns(device, launch, chunk, [rows, k], &scores)?));
        }
        Ok(cases)
    });
}

stream_pipeline! {
    /// For each query, the `k` vectors with the largest inner products.
    pipeline Search {
        param dimensions: u32;
        param queries: u32;
        param k: u32;
        resident q: [f32];
        input vectors: [f32; dimensions as usize];
        carry values: [f32; (queries * k) as usize] = f32::NEG_INFINITY;
        carry indices: [u32; (queries * k) as usize] = u32::MAX;
        device turned: [f32; dimensions as usize];
        device scores: [f32; queries as usize];
        device top: [f32; (queries * k) as usize] per chunk;
        device places: [u32; (queries * k) as usize] per chunk;
        chunk c = auto;
        stage load { copy vectors -> v; }
        stage score {
            transpose<<<(blocks(c.len, 32), blocks(dimensions as usize, 32)), 256>>>(
                &v, out turned as [1, dimensions as usize, c.len]);
            matmul<<<(blocks(c.len, 128), blocks(queries as usize, 128)), 256>>>(
                dimensions, &q, &turned, out scores as [queries as usize, c.len]);
        }
        stage select {
            top_k<<<queries, 256>>>(
                c.len as u32, &scores, out top as [queries as usize, k as usize],
                out places as [queries as usize, k as usize]);
            top_k_merge<<<queries, 128>>>(
                queries, k, c.start as u32, &top, &places, &mut values, &mut indices);
        }
    }
}

/// Exact search in vectors of small whole numbers, whose products are exact: many are equal.
fn vectors_are_found(device: &Device) {
    let (dimensions, queries, k, count) = (24_u32, 19_u32, 30_u32, 2500_usize);
    let mut random = Random::new(5);
    let mut numbers = |len: usize| (0..len).map(|_| random.below(9) as f32 - 4.0).collect::<Vec<_>>();
    let (q, vectors) = (numbers((queries * dimensions) as usize), numbers(count * dimensions as usize));
    let lists = (queries * k) as usize;
    let (mut values, mut indices) = (vec![0.0; lists], vec![0; lists]);
    let mut search = Search::options(device).chunk(333).build().unwrap();
    let report = search.run(dimensions, queries, k, &q, &vectors, &mut values, &mut indices).unwrap();
    assert_eq!(report.chunks, 8);
    let score = |query: &[f32], vector: &[f32]| query.iter().zip(vector).map(|(q, v)| q * v).sum::<f32>();
    let of_query =
        |query| vectors.chunks(dimensions as usize).map(|vector| score(query, vector) + 0.0).collect();
    let scores: Vec<Vec<f32>> = q.chunks(dimensions as usize).map(of_query).collect();
    let expected = sorted(scores.iter().map(|row| &row[..]), k);
    assert_lists(&(values, indices), &expected, "search");
}

#[test]
fn vectors_are_found_in_chunks() {
    vectors_are_found(&Device::simulated(Simulation::default()));
}

#[test]
#[ignore = "needs a CUDA device"]
fn vectors_are_found_in_chunks_on_a_gpu() {
    vectors_are_found(&Device::cuda(0).expect("a GPU"));
}
