//! Box blurs of single-channel images of bytes.

use thalweg::prelude::*;

use crate::filter::clamped;

/// The columns that a thread of a box blur along rows computes, side by side.
const WIDTH: usize = 4;

/// The first half of a box blur of bytes: `sums[i, r, c]` is the sum of `x[i, r, c - radius]` to
/// `x[i, r, c + radius]`.
///
/// Shapes and border are those of [`blur_rows`](crate::blur_rows); radii go up to 2,047, so that the second half,
/// [`struct@box_columns_u8`], stays below 2^32. It is exact in integers on every device. (A box blur of floats is
/// [`blur_rows_f32`](crate::blur_rows_f32) and [`blur_columns_f32`](struct@crate::blur_columns_f32) with equal weights.)
///
/// A block of 256 threads, which all launches have, computes tiles of 8 rows and 128 columns, and a thread 4 pixels of
/// a row: from one to the next a pixel comes in and one leaves. One block a tile is best:
/// `box_rows_u8<<<(blocks(columns, 128), blocks(rows, 8), images), 256>>>(rows, columns, radius, &x, out sums)`. Any
/// grid does all of the work.
#[kernel(threads = 256)]
#[allow(
    clippy::needless_range_loop,
    reason = "NVRTC unrolls a loop over numbers further than one over elements"
)]
#[requires(radius <= 2047)]
#[requires(sums.shape()[1..] == [rows as usize, columns as usize])]
#[requires(sums.len() <= x.len())]
pub fn box_rows_u8(block: Block<3>, rows: u32, columns: u32, radius: u32, x: &[u8], sums: &mut Out<[u32]>) {
    let (rows, columns, radius) = (rows as usize, columns as usize, radius as usize);
    let taps = 2 * radius + 1;
    for at in block.tiles::<8, 128>(sums) {
        block.fill_parts(&mut sums.tile(at), |t| {
            let part = at.part::<1, WIDTH>(t);
            let (row, column) = (at.top() + part.row(0), at.left() + part.column(0));
            let mut of_part = [[0_u32; WIDTH]; 1];
            if row < rows && column < columns {
                let line = (at.item() * rows + row) * columns;
                let mut sum = 0_u32;
                if column >= radius && column + radius + WIDTH <= columns {
                    let first = line + column - radius;
                    let (near, behind) = (&x[first..first + taps], first + taps);
                    // What leaves the sum for the next pixel, and what comes in.
                    let leaves = &x[first..first + WIDTH - 1];
                    let comes = &x[behind..behind + WIDTH - 1];
                    for j in 0..taps {
                        sum += u32::from(near[j]);
                    }
                    of_part[0][0] = sum;
                    #[unroll]
                    for i in 0..WIDTH - 1 {
                        sum = sum.wrapping_add(u32::from(comes[i])).wrapping_sub(u32::from(leaves[i]));
                        of_part[0][i + 1] = sum;
                    }
                } else {
                    #[unroll(1)]
                    for j in 0..taps {
                        sum += u32::from(x[line + clamped(column, j, radius, columns)]);
                    }
                    of_part[0][0] = sum;
                    #[unroll]
                    for i in 1..WIDTH {
                        sum += u32::from(x[line + clamped(column, i + 2 * radius, radius, columns)]);
                        sum -= u32::from(x[line + clamped(column, i - 1, radius, columns)]);
                        of_part[0][i] = sum;
                    }
                }
            }
            of_part
        });
    }
}

/// The rows of a column that a thread of [`struct@box_columns_u8`] walks down, and how many of them it reads ahead.
const WALK: usize = 32;
const AHEAD: usize = 8;

/// The second half of a box blur of bytes: `y[i, r, c]` is the mean of `(2 * radius + 1)^2` pixels, from the sums of
/// [`struct@box_rows_u8`] with the same radius. Halves are rounded up. Sums that are not sums of bytes are added modulo
/// 2^32.
///
/// A block of 128 threads, which all launches have, computes tiles of 32 rows and 128 columns, and a thread walks down
/// a column of one, so that its time hardly grows with the radius. One block a tile is best:
/// `box_columns_u8<<<(blocks(columns, 128), blocks(rows, 32), images), 128>>>(rows, columns, radius, &sums, out y)`.
/// Any grid does all of the work.
#[kernel(threads = 128)]
#[requires(radius <= 2047)]
#[requires(y.shape()[1..] == [rows as usize, columns as usize])]
#[requires(y.len() <= sums.len())]
pub fn box_columns_u8(
    block: Block<3>,
    rows: u32,
    columns: u32,
    radius: u32,
    sums: &[u32],
    y: &mut Out<[u8]>,
) {
    let area = (2 * radius + 1) * (2 * radius + 1);
    let (rows, columns, radius) = (rows as usize, columns as usize, radius as usize);
    for at in block.tiles::<WALK, 128>(y) {
        let top = at.top();
        block.fill_parts(&mut y.tile(at), |t| {
            let column = at.left() + at.part::<WALK, 1>(t).column(0);
            let mut means = [[0_u8; 1]; WALK];
            if top < rows && column < columns {
                let line = &sums[at.item() * rows * columns + column..];
                // No pixel of the walk is near a border: the places in the column only go up.
                let is_inner = top >= radius && top + WALK + radius < rows;
                let mut leaves = top.saturating_sub(radius) * columns;
                let mut comes = leaves + columns;
                let mut sum = line[leaves];
                if is_inner {
                    // Four of the other 2 * radius at a time, so that they are under way together.
                    for _ in 0..radius / 2 {
                        let below = comes + 2 * columns;
                        let four = [line[comes], line[comes + columns], line[below], line[below + columns]];
                        sum = sum.wrapping_add(four[0]).wrapping_add(four[1]);
                        sum = sum.wrapping_add(four[2]).wrapping_add(four[3]);
                        comes = below + 2 * columns;
                    }
                    if radius % 2 == 1 {
                        sum = sum.wrapping_add(line[comes]).wrapping_add(line[comes + columns]);
                        comes += 2 * columns;
                    }
                } else {
                    #[unroll(1)]
                    for j in 1..2 * radius + 1 {
                        sum = sum.wrapping_add(line[clamped(top, j, radius, rows) * columns]);
                    }
                }
                #[unroll]
                for group in 0..WALK / AHEAD {
                    let (mut more, mut less) = ([0_u32; AHEAD], [0_u32; AHEAD]);
                    #[unroll]
                    for k in 0..AHEAD {
                        let row = top + AHEAD * group + k;
                        if !is_inner {
                            comes = clamped(row + 1, 2 * radius, radius, rows) * columns;
                            leaves = clamped(row, 0, radius, rows) * columns;
                        }
                        more[k] = line[comes];
                        less[k] = line[leaves];
                        comes += columns;
                        leaves += columns;
                    }
                    #[unroll]
                    for k in 0..AHEAD {
                        means[AHEAD * group + k][0] = (sum.wrapping_add(area / 2) / area) as u8;
                        sum = sum.wrapping_add(more[k]).wrapping_sub(less[k]);
                    }
                }
            }
            means
        });
    }
}
