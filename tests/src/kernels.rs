//! Kernels for the tests, in all element types, shapes and kinds of host body that the crate supports.

use thalweg::bytemuck::{Pod, Zeroable};
use thalweg::prelude::*;

/// An element that is a struct.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(C)]
#[allow(missing_docs, reason = "plain coordinates")]
pub struct Point {
    pub x: f32,
    pub y: f32,
    pub tag: u32,
    pub unused: u32,
}

/// A scalar argument that is a struct.
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(C)]
#[allow(missing_docs, reason = "plain coordinates")]
pub struct Offset {
    pub x: f32,
    pub y: f32,
}

/// A struct that kernels of other crates name.
#[device]
#[derive(Debug, Clone, Copy, PartialEq, Pod, Zeroable)]
#[bytemuck(crate = "thalweg::bytemuck")]
#[repr(C)]
#[allow(missing_docs, reason = "its fields say it")]
pub struct Weighted {
    pub value: f64,
    pub weight: f64,
}

/// The one of the greater weight.
#[device]
pub fn heavier(a: Weighted, b: Weighted) -> Weighted {
    if a.weight > b.weight { a } else { b }
}

#[kernels("../cu/elements.cu")]
unsafe extern "CUDA" {
    /// `y[i] += a * x[i]`, with a host body for each thread.
    #[host(axpy_thread)]
    pub safe fn axpy_each(n: u32, a: f32, x: &[f32], y: &mut [f32]);
    /// `y[i] += a`, with a host body for the whole grid.
    #[host(add_to_grid)]
    pub safe fn add_to(n: u32, a: f32, y: &mut [f32]);
    /// `y[i] *= 2`, with a host body for the grid that goes through its threads.
    #[host(double_grid)]
    pub safe fn double_all(n: u32, y: &mut [f32]);
    /// `y[i] = !x[i]`
    #[host(invert_thread)]
    pub safe fn invert(n: u32, x: &[u8], y: Out<[u8]>);
    /// `y[i] = scale * x[i]`
    #[host(widen_thread)]
    pub safe fn widen(n: u32, scale: i64, x: &[u16], y: Out<[i64]>);
    /// `y[i] /= 2`
    #[host(halve_thread)]
    pub safe fn halve(n: u32, y: &mut [f64]);
    /// Moves each point, and counts that in its tag.
    #[host(shift_thread)]
    pub safe fn shift(n: u32, by: Offset, points: &mut [Point]);
}

fn axpy_thread(t: Thread, n: u32, a: f32, x: &[f32], y: &mut [f32]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] += a * x[i];
    }
}

fn add_to_grid(_: Grid, n: u32, a: f32, y: &mut [f32]) {
    y[..n as usize].iter_mut().for_each(|y| *y += a);
}

fn double_grid(grid: Grid, n: u32, y: &mut [f32]) {
    for i in grid.threads().map(|t| t.global_x()).filter(|&i| i < n as usize) {
        y[i] *= 2.0;
    }
}

fn invert_thread(t: Thread, n: u32, x: &[u8], y: &mut [u8]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] = !x[i];
    }
}

fn widen_thread(t: Thread, n: u32, scale: i64, x: &[u16], y: &mut [i64]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] = scale * i64::from(x[i]);
    }
}

fn halve_thread(t: Thread, n: u32, y: &mut [f64]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] /= 2.0;
    }
}

fn shift_thread(t: Thread, n: u32, by: Offset, points: &mut [Point]) {
    let i = t.global_x();
    if i < n as usize {
        let Point { x, y, tag, unused } = points[i];
        points[i] = Point { x: x + by.x, y: y + by.y, tag: tag + 1, unused };
    }
}

#[kernels("../cu/shapes.cu")]
unsafe extern "CUDA" {
    /// `sums[i * copies + j]` is `j` times the sum of row `i`.
    #[host(sum_rows_thread)]
    pub safe fn sum_rows(rows: u32, k: u32, copies: u32, x: &[f32], sums: Out<[f32]>);
    /// Pairs of each number and its square.
    #[host(with_square_thread)]
    pub safe fn with_square(n: u32, x: &[i32], pairs: Out<[i64]>);
    /// The sum of each pair.
    #[host(sum_pairs_thread)]
    pub safe fn sum_pairs(n: u32, pairs: &[i64], sums: Out<[i64]>);
    /// `first`, `first + step`, …
    #[host(count_up_thread)]
    pub safe fn count_up(n: u32, first: u64, step: u64, z: Out<[u64]>);
    /// `1000 * row + column` in rows of `width` pixels.
    #[host(paint_thread)]
    pub safe fn paint(width: u32, first_row: u32, rows: u32, pixels: Out<[u32]>);
}

fn sum_rows_thread(t: Thread, rows: u32, k: u32, copies: u32, x: &[f32], sums: &mut [f32]) {
    let (i, k, copies) = (t.global_x(), k as usize, copies as usize);
    if i < rows as usize {
        let sum: f32 = x[i * k..(i + 1) * k].iter().sum();
        for j in 0..copies {
            sums[i * copies + j] = sum * j as f32;
        }
    }
}

fn with_square_thread(t: Thread, n: u32, x: &[i32], pairs: &mut [i64]) {
    let i = t.global_x();
    if i < n as usize {
        let number = i64::from(x[i]);
        pairs[2 * i..2 * i + 2].copy_from_slice(&[number, number * number]);
    }
}

fn sum_pairs_thread(t: Thread, n: u32, pairs: &[i64], sums: &mut [i64]) {
    let i = t.global_x();
    if i < n as usize {
        sums[i] = pairs[2 * i] + pairs[2 * i + 1];
    }
}

fn count_up_thread(t: Thread, n: u32, first: u64, step: u64, z: &mut [u64]) {
    let i = t.global_x();
    if i < n as usize {
        z[i] = first + i as u64 * step;
    }
}

fn paint_thread(t: Thread, width: u32, first_row: u32, rows: u32, pixels: &mut [u32]) {
    let (column, row) = (t.global_x(), t.global_y());
    if column < width as usize && row < rows as usize {
        pixels[row * width as usize + column] = 1000 * (first_row + row as u32) + column as u32;
    }
}

#[kernels("../cu/limits.cu")]
unsafe extern "CUDA" {
    /// `y[i] += 1`, by at most 64 threads a block.
    #[host(bounded_thread)]
    pub safe fn bounded(n: u32, y: &mut [f32]);
    /// `y[i] = x[i]`, by way of shared memory: needs 4 bytes a thread.
    #[host(through_shared_grid)]
    pub safe fn through_shared(n: u32, x: &[f32], y: Out<[f32]>);
    /// `y[i] = x[i] + 1`. Refuses the launch if `n` exceeds the chunk, and panics on [`REFUSED`].
    #[host(refuses_thread)]
    #[requires(n as usize <= x.len())]
    pub safe fn refuses(n: u32, x: &[i32], y: Out<[i32]>);
    /// A kernel without a host body: the simulated device cannot run it.
    pub safe fn without_host_body(y: &mut [f32]);
}

/// The value to which [`refuses`] does not add 1.
pub const REFUSED: i32 = i32::MIN;

fn bounded_thread(t: Thread, n: u32, y: &mut [f32]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] += 1.0;
    }
}

fn through_shared_grid(grid: Grid, n: u32, x: &[f32], y: &mut [f32]) {
    assert_eq!(grid.shared, 4 * grid.block_dim[0]);
    y[..n as usize].copy_from_slice(&x[..n as usize]);
}

fn refuses_thread(t: Thread, n: u32, x: &[i32], y: &mut [i32]) {
    let i = t.global_x();
    if i < n as usize {
        assert_ne!(x[i], REFUSED, "element {i} is refused");
        y[i] = x[i] + 1;
    }
}

#[kernels("../cu/language.cu")]
unsafe extern "CUDA" {
    /// `y[i]` is the sum of `(k + 1) * x[i + k]` for `k <= 2 * radius`.
    #[host(weigh_thread)]
    #[requires(n as usize + 2 * radius as usize <= x.len() && n as usize <= y.len())]
    pub safe fn weigh(n: u32, radius: u32, x: &[f32], y: Out<[f32]>);
    /// The sum of `n` elements, and `n`.
    #[host(summarise_grid)]
    #[requires(n as usize <= x.len() && summary.len() == 2)]
    pub safe fn summarise(n: u32, x: &[f32], summary: Out<[f32]>);
    /// `y[i] = x[i] + 1`.
    #[host(plus_one_thread)]
    #[requires(n as usize <= x.len() && n as usize <= y.len())]
    pub safe fn plus_one(n: u32, x: &[f32], y: Out<[f32]>);
}

fn weigh_thread(t: Thread, n: u32, radius: u32, x: &[f32], y: &mut [f32]) {
    let i = t.global_x();
    if i < n as usize {
        let window = &x[i..=i + 2 * radius as usize];
        y[i] = window.iter().zip(1_u8..).map(|(x, weight)| f32::from(weight) * x).sum();
    }
}

fn summarise_grid(_: Grid, n: u32, x: &[f32], summary: &mut [f32]) {
    summary.copy_from_slice(&[x[..n as usize].iter().sum(), n as f32]);
}

fn plus_one_thread(t: Thread, n: u32, x: &[f32], y: &mut [f32]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] = x[i] + 1.0;
    }
}

#[kernels("../cu/shared.cu")]
unsafe extern "CUDA" {
    /// `total[0] += sum(x)`, `total[1] += n`, by one thread.
    #[host(accumulate_grid)]
    #[requires(n as usize <= x.len())]
    #[requires(total.len() >= 2)]
    pub safe fn accumulate(n: u32, x: &[i64], total: &mut [i64]);
    /// `y[i] = table[index[i] % entries]` for `i < n`.
    #[host(gather_thread)]
    #[requires(n as usize <= index.len() && n as usize <= y.len())]
    #[requires(0 < entries && entries as usize <= table.len())]
    pub safe fn gather(n: u32, entries: u32, index: &[u32], table: &[f32], y: Out<[f32]>);
}

fn accumulate_grid(_: Grid, n: u32, x: &[i64], total: &mut [i64]) {
    total[0] += x[..n as usize].iter().sum::<i64>();
    total[1] += i64::from(n);
}

fn gather_thread(t: Thread, n: u32, entries: u32, index: &[u32], table: &[f32], y: &mut [f32]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] = table[(index[i] % entries) as usize];
    }
}
