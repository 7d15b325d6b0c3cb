//! Rows of tables, and the largest elements of rows.

use thalweg_kernels::{gather_f32, gather_u32, top_k, top_k_merge};
use thalweg_tests::launches::LAUNCHES;

use super::*;

#[test]
fn rows_of_a_table() {
    let (mut floats, mut words) = (Bench::of::<gather_f32>(), Bench::of::<gather_u32>());
    for [n, width, rows] in [[0, 3, 4], [5, 0, 4], [6, 7, 0], [1, 1, 1], [100, 3, 50], [33, 40, 9]] {
        for block in [1, 100, 1024] {
            let len = (n * width) as usize;
            let index: Vec<u32> = (0..n)
                .map(|_| match words.random.below(4) {
                    0 => words.random.bits() as u32,
                    _ => words.random.below(u64::from(rows) + 1) as u32,
                })
                .collect();
            let table = words.random.any_floats((rows * width) as usize);
            let bits: Vec<u32> = table.iter().map(|x| x.to_bits()).collect();
            same!(floats, gather_f32, covering(len, block), Tolerance::Exact;
                width = value(width), rows = value(rows), index = read(&index), table = read(&table),
                out = write(&vec![7.0; len]));
            same!(words, gather_u32, covering(len, block), Tolerance::Exact;
                width = value(width), rows = value(rows), index = read(&index), table = read(&bits),
                out = write(&vec![7; len]));
        }
    }
    floats.finish(72, 10_000);
    words.finish(72, 10_000);
}

/// Scores of any bits, few different ones, rising, falling, and NaN.
fn scores(random: &mut Random, kind: u64, len: usize) -> Vec<f32> {
    match kind {
        0 => random.any_floats(len),
        1 => (0..len)
            .map(|_| [-0.0, 0.0, 1.0, f32::NAN, f32::NEG_INFINITY][random.below(5) as usize])
            .collect(),
        2 => (0..len).map(|i| i as f32).collect(),
        3 => (0..len).map(|i| -(i as f32)).collect(),
        _ => vec![f32::NAN; len],
    }
}

#[test]
fn the_largest_of_each_row() {
    let mut bench = Bench::of::<top_k>();
    for (case, [rows, columns, k]) in
        [[0, 9, 3], [2, 0, 3], [1, 1, 1], [3, 50, 4], [2, 700, 33], [1, 2500, 100], [2, 1300, 1024]]
            .into_iter()
            .enumerate()
    {
        for (at, launch) in LAUNCHES.into_iter().enumerate().filter(|(_, (grid, ..))| grid.0 < 100) {
            let ((x, y, _), block, shared) = launch;
            let launch = ((x, y, 1), (block.0 * block.1 * block.2, 1, 1), shared);
            let scores = scores(&mut bench.random, (case + at) as u64 % 5, (rows * columns) as usize);
            let (len, shape) = ((rows * k) as usize, [rows as usize, k as usize]);
            same!(bench, top_k, launch, Tolerance::Exact;
                columns = value(columns), scores = read(&scores),
                values = formed((&vec![7.0; len], shape)), indices = formed((&vec![7; len], shape)));
        }
    }
    bench.finish(196, 300_000);
}

/// Lists as `top_k` makes them: sorted by score, then by index, with places that no score fills.
fn lists(random: &mut Random, kind: u64, rows: u32, k: u32) -> (Vec<f32>, Vec<u32>) {
    let (mut values, mut indices) = (Vec::new(), Vec::new());
    for _ in 0..rows {
        let filled = random.below(u64::from(k) + 1) as usize;
        let of_row = scores(random, kind, filled);
        let mut list: Vec<_> = of_row.into_iter().zip(0_u32..).collect();
        // NaN comes last, and both zeros are equal.
        list.sort_by(|a, b| {
            a.0.is_nan().cmp(&b.0.is_nan()).then(b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal))
        });
        list.resize(k as usize, (f32::NEG_INFINITY, u32::MAX));
        values.extend(list.iter().map(|(value, _)| value));
        indices.extend(list.iter().map(|(_, index)| index));
    }
    (values, indices)
}

#[test]
fn lists_that_are_merged() {
    let mut bench = Bench::of::<top_k_merge>();
    for (case, [rows, k]) in [[0, 3], [2, 0], [1, 1], [3, 40], [2, 333], [2, 1024]].into_iter().enumerate() {
        for (at, launch) in LAUNCHES.into_iter().enumerate().filter(|(_, (grid, ..))| grid.0 < 100) {
            let kind = (case + at) as u64 % 5;
            let (values, indices) = lists(&mut bench.random, kind, rows, k);
            let (best_values, best_indices) = lists(&mut bench.random, kind, rows, k);
            let ((x, y, _), block, shared) = launch;
            let launch = ((x * y, 1, 1), (block.0 * block.1 * block.2, 1, 1), shared);
            same!(bench, top_k_merge, launch, Tolerance::Exact;
                rows = value(rows), k = value(k), offset = value(at as u32 * 7), values = read(&values),
                indices = read(&indices), best_values = write(&best_values),
                best_indices = write(&best_indices));
        }
    }
    bench.finish(168, 200_000);
}
