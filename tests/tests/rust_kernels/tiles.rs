//! Kernels whose blocks have tiles and rows of their data, on the simulated device.

use thalweg::kernel::Shaped;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::{assert_said, on_each_device};

// ANCHOR: turn
/// Each of several matrices transposed: `y[i, r, c] = x[i, c, r]`.
#[kernel]
#[requires(x.len() == y.len())]
pub(crate) fn turn(block: Block<3>, x: &[f32], y: &mut Out<[f32]>) {
    let mut tile = block.shared_padded::<[[f32; 32]; 32], 1>();
    let [_, rows, columns] = block.shape(y);
    for at in block.tiles::<32, 32>(y) {
        // The tile of `x` that becomes this one of `y`.
        let (first, top, left) = (at.item() * rows * columns, at.left(), at.top());
        block.fill(&mut tile, |[r, c]| {
            if top + r < columns && left + c < rows { x[first + (top + r) * rows + left + c] } else { 0.0 }
        });
        block.fill(&mut y.tile(at), |[r, c]| tile[c][r]);
    }
}

stream_pipeline! {
    /// An item is a matrix.
    pipeline Turn {
        param rows: usize;
        param columns: usize;
        input x: [f32; rows * columns];
        output y: [f32; rows * columns];
        device dy: [f32; rows * columns];
        chunk c = 3;
        stage all {
            copy x -> dx;
            turn<<<(blocks(rows, 32), blocks(columns, 32), c.len as u32), 256>>>(&dx, out dy as [c.len, columns, rows]);
            copy dy -> y;
        }
    }
}
// ANCHOR_END: turn

// ANCHOR: softmax
/// `y = exp(x) / sum(exp(x))` for each row.
#[kernel]
#[requires(x.len() == y.len())]
pub(crate) fn softmax(block: Block<2>, x: &[f32], y: &mut Out<[f32]>) {
    let [_, columns] = block.shape(y);
    for row in block.rows(y) {
        let x = &x[row.get() * columns..(row.get() + 1) * columns];
        let greatest = block.reduce(
            |t| {
                let mut greatest = f32::NEG_INFINITY;
                for c in t.of_block(x.len()) {
                    greatest = greatest.max(x[c]);
                }
                greatest
            },
            |a, b| a.max(b),
        );
        let sum = block.reduce(
            |t| {
                let mut sum = 0.0;
                for c in t.of_block(x.len()) {
                    sum += (x[c] - greatest).exp();
                }
                sum
            },
            |a, b| a + b,
        );
        block.fill(&mut y.row(row), |c| (x[c] - greatest).exp() / sum);
    }
}
// ANCHOR_END: softmax

on_each_device! {
    tiles_are_transposed_in_a_pipeline;
    any_grid_of_the_right_axes_does_all_of_the_work;
    rows_are_normalised_by_blocks;
    launches_have_the_axes_of_the_kernel_and_the_shape_of_the_memory;
    products_are_those_of_loops;
    threads_have_parts_of_tiles;
}

fn tiles_are_transposed_in_a_pipeline(device: &Device) {
    for [items, rows, columns] in [[1, 1, 1], [2, 3, 4], [4, 32, 64], [7, 33, 31], [1, 100, 5]] {
        let x: Vec<f32> = (0..items * rows * columns).map(|i| i as f32).collect();
        let mut y = vec![0.0; x.len()];
        Turn::new(device).unwrap().run(rows, columns, &x, &mut y).unwrap();
        for (i, y) in y.iter().enumerate() {
            let (item, c, r) = (i / rows / columns, i / rows % columns, i % rows);
            assert_eq!(*y, x[(item * rows + r) * columns + c], "{items} x {rows} x {columns} at {i}");
        }
    }
}

fn any_grid_of_the_right_axes_does_all_of_the_work(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = turn::load(device).unwrap();
    let shape = [3, 70, 40];
    let x: Vec<f32> = (0..3 * 70 * 40).map(|i| i as f32).collect();
    let on_device = DeviceBuf::from_slice(device, &x).unwrap();
    let launched = |grid: (u32, u32, u32), threads: u32| {
        let mut y = DeviceBuf::<f32>::zeroed(device, x.len()).unwrap();
        kernel.launch(stream.config(grid, threads, 0), &on_device, Shaped::new(&mut y, shape)).unwrap();
        y.to_vec().unwrap()
    };
    let expected = launched((2, 3, 3), 256);
    for grid in [(1, 1, 1), (2, 1, 2), (1, 2, 1), (5, 5, 5)] {
        assert_eq!(launched(grid, 33), expected, "{grid:?}");
    }
}

fn rows_are_normalised_by_blocks(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = softmax::load(device).unwrap();
    for (rows, columns) in [(1, 1), (3, 5), (10, 300), (0, 7)] {
        let x: Vec<f32> = (0..rows * columns).map(|i| (i * 7919 % 13) as f32).collect();
        let on_device = DeviceBuf::from_slice(device, &x).unwrap();
        for grid in [(rows.max(1) as u32, 1), (2, 3), (1, 1)] {
            let mut y = DeviceBuf::<f32>::zeroed(device, x.len()).unwrap();
            let y_as = Shaped::new(&mut y, [rows, columns]);
            kernel.launch(stream.config(grid, 64, 0), &on_device, y_as).unwrap();
            let y = y.to_vec().unwrap();
            for (x, y) in x.chunks(columns).zip(y.chunks(columns)) {
                let greatest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let sum: f32 = x.iter().map(|x| (x - greatest).exp()).sum();
                for (x, y) in x.iter().zip(y) {
                    assert!((y - (x - greatest).exp() / sum).abs() < 1e-6, "{rows} x {columns}");
                }
            }
        }
    }
}

/// Fails in a tile.
#[kernel]
fn beyond(block: Block<2>, x: &[f32], y: &mut Own<[f32]>) {
    for at in block.tiles::<2, 4>(y) {
        block.fill(&mut y.tile(at), |[r, c]| x[at.top() * 100 + r + at.left() + c]);
    }
}

fn launches_have_the_axes_of_the_kernel_and_the_shape_of_the_memory(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = beyond::load(device).unwrap();
    let x = DeviceBuf::from_slice(device, &[1.0_f32; 50]).unwrap();
    let mut y = DeviceBuf::<f32>::zeroed(device, 24).unwrap();
    let mut said = |grid: (u32, u32, u32), block: (u32, u32, u32), shape| {
        let launched = kernel.launch(stream.config(grid, block, 0), &x, Shaped::new(&mut y, shape));
        launched.and_then(|()| stream.synchronize()).unwrap_err().to_string()
    };
    let text = said((2, 2, 2), (32, 1, 1), [3, 8]);
    assert!(text.contains("has more than 2 dimensions in its grid, or one in its blocks"), "{text}");
    assert!(text.contains("write 2 numbers for the grid, and one for the block"), "{text}");
    let text = said((2, 2, 1), (32, 2, 1), [3, 8]);
    assert!(text.contains("has more than 2 dimensions in its grid, or one in its blocks"), "{text}");
    let text = said((2, 2, 1), (32, 1, 1), [3, 7]);
    assert!(text.contains("[3, 7]") && text.contains("24"), "{text}");
    let text = said((2, 2, 1), (3, 1, 1), [3, 8]);
    let said = ["index out of bounds: the len is 50 but the index is 200", "it was thread 0 of block [1, 0]"];
    assert_said(device, &text, "tiles.rs", &said);
}

// ANCHOR: matmul
const TILE: usize = 128;
const DEPTH: usize = 8;

/// The matrix product `C = A x B`, row by row: `a` is `[m, k]`, `b` is `[k, n]` and `c` is `[m, n]`.
#[kernel(threads = 256)]
#[requires(k == 0 || (a.len() / k) * (b.len() / k) == c.len())]
pub(crate) fn product(block: Block<2>, k: usize, a: &[f32], b: &[f32], c: &mut Out<[f32]>) {
    let mut rows = block.shared_padded::<[[f32; TILE]; DEPTH], 4>();
    let mut columns = block.shared_padded::<[[f32; TILE]; DEPTH], 4>();
    let [m, n] = block.shape(c);
    for at in block.tiles::<TILE, TILE>(c) {
        let mut sums = block.private([[0.0_f32; 8]; 8]);
        for from in (0..k).step_by(DEPTH) {
            // A strip of `a`, turned, and one of `b`. Zeros beyond the border add nothing.
            block.fill_columns(&mut rows, |[inner, row]| {
                let (row, inner) = (at.top() + row, from + inner);
                if row < m && inner < k { a[row * k + inner] } else { 0.0 }
            });
            block.fill(&mut columns, |[inner, column]| {
                let (inner, column) = (from + inner, at.left() + column);
                if inner < k && column < n { b[inner * n + column] } else { 0.0 }
            });
            block.each(|t| {
                let part = at.part::<8, 8>(t);
                #[unroll]
                for inner in 0..DEPTH {
                    #[unroll]
                    for i in 0..8 {
                        #[unroll]
                        for j in 0..8 {
                            let (row, column) = (rows[inner][part.row(i)], columns[inner][part.column(j)]);
                            sums[t][i][j] = row.mul_add(column, sums[t][i][j]);
                        }
                    }
                }
            });
        }
        block.fill_parts(&mut c.tile(at), |t| sums[t]);
    }
}
// ANCHOR_END: matmul

fn products_are_those_of_loops(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = product::load(device).unwrap();
    for [m, n, k] in [[1, 1, 1], [3, 2, 9], [130, 7, 16], [5, 200, 3], [2, 2, 0]] {
        let a: Vec<f32> = (0..m * k).map(|i| (i * 7919 % 17) as f32 - 8.0).collect();
        let b: Vec<f32> = (0..k * n).map(|i| (i * 104_729 % 13) as f32 - 6.0).collect();
        let [on_device, other] = [&a, &b].map(|x| DeviceBuf::from_slice(device, x).unwrap());
        let mut expected = vec![0.0; m * n];
        for (i, sum) in expected.iter_mut().enumerate() {
            (0..k).for_each(|inner| *sum += a[i / n * k + inner] * b[inner * n + i % n]);
        }
        for grid in [(blocks(n, 128), blocks(m, 128)), (1, 1)] {
            let mut c = DeviceBuf::<f32>::zeroed(device, m * n).unwrap();
            let c_as = Shaped::new(&mut c, [m, n]);
            kernel.launch(stream.config(grid, 256, 0), k, &on_device, &other, c_as).unwrap();
            assert_eq!(c.to_vec().unwrap(), expected, "{m} x {n}, {k}");
        }
    }
    let x = DeviceBuf::from_slice(device, &[1.0_f32]).unwrap();
    let mut c = DeviceBuf::<f32>::zeroed(device, 1).unwrap();
    let launched = kernel.launch(stream.config((1, 1), 128, 0), 1, &x, &x, Shaped::new(&mut c, [1, 1]));
    let text = launched.unwrap_err().to_string();
    assert!(text.contains("has not 256 threads in each block"), "{text}");
    assert!(text.contains("write `<<<…, 256>>>`"), "{text}");
}

/// Parts of another size than the block has threads for.
#[kernel]
#[allow(clippy::needless_range_loop, reason = "kernels have no iterators that write")]
fn in_parts(block: Block<2>, y: &mut Out<[u32]>) {
    for at in block.tiles::<6, 8>(y) {
        block.fill_parts(&mut y.tile(at), |t| {
            let part = at.part::<3, 4>(t);
            let mut own = [[0; 4]; 3];
            for i in 0..3 {
                for j in 0..4 {
                    own[i][j] =
                        (t.rank() * 10_000 + (at.top() + part.row(i)) * 100 + at.left() + part.column(j))
                            as u32;
                }
            }
            own
        });
    }
}

fn threads_have_parts_of_tiles(device: &Device) {
    let stream = Stream::new(device).unwrap();
    let kernel = in_parts::load(device).unwrap();
    let mut y = DeviceBuf::<u32>::zeroed(device, 10 * 9).unwrap();
    kernel.launch(stream.config((2, 1), 4, 0), Shaped::new(&mut y, [10, 9])).unwrap();
    for (i, y) in y.to_vec().unwrap().into_iter().enumerate() {
        let (row, column) = (i / 9, i % 9);
        // Rows of one thread stand two apart, and four columns beside each other.
        let thread = row % 6 % 2 * 2 + column % 8 / 4;
        assert_eq!(y as usize, thread * 10_000 + row * 100 + column, "{row}, {column}");
    }
    let error = kernel.launch(stream.config((2, 1), 5, 0), Shaped::new(&mut y, [10, 9]));
    let text = error.and_then(|()| stream.synchronize()).unwrap_err().to_string();
    assert_said(device, &text, "tiles.rs", &["a tile has 4 parts, and the block 5 threads"]);
}
