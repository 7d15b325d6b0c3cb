//! Filters of single-channel images: blurs and edges.
//!
//! Images are `[images, rows, columns]`, so that an item of a pipeline is an image. Beyond the border of an
//! image lies the border's own pixel (`clamp`).

use thalweg::prelude::*;

use crate::map::of_type;

/// Each pixel's weighted sum along its row: `y[i, r, c]` is the sum of `weights[j] * x[i, r, c + j - radius]` for
/// `j <= 2 * radius`, from `f32` or bytes.
///
/// `x` and `y` are `[images, rows, columns]`, `radius` is in pixels, and `weights` has at least `2 * radius + 1`
/// elements; columns beyond the border are the border's own. With [`struct@blur_columns_f32`] after it, or
/// [`struct@blur_columns_u8`], it is any separable filter: a Gaussian blur with the weights of [`gaussian`], a box blur
/// with equal ones.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::{blur_columns_f32, blur_rows_f32, gaussian};
///
/// stream_pipeline! {
///     /// An item is an image.
///     pipeline Blur {
///         param rows: u32;
///         param columns: u32;
///         param radius: u32;
///         resident weights: [f32];
///         input x: [f32; (rows * columns) as usize];
///         output y: [f32; (rows * columns) as usize];
///         device t: [f32; (rows * columns) as usize];
///         device dy: [f32; (rows * columns) as usize];
///         chunk c = auto;
///         stage load { copy x -> dx; }
///         stage blur {
///             blur_rows_f32<<<(blocks(columns as usize, 32), blocks(rows as usize, 8), c.len), (32, 8)>>>(
///                 rows, columns, radius, &weights, &dx, out t as [c.len, rows as usize, columns as usize]);
///             blur_columns_f32<<<(blocks(columns as usize, 32), blocks(rows as usize, 32), c.len), 256>>>(
///                 rows, columns, radius, &weights, &t, out dy as [c.len, rows as usize, columns as usize]);
///         }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let weights = gaussian(6, 2.0);
/// let (x, mut y) = ([1.0; 5 * 7], [0.0; 5 * 7]);
/// Blur::new(&Device::simulated(Simulation::default()))?.run(5, 7, 6, &weights, &x, &mut y)?;
/// assert!(y.iter().all(|y| (y - 1.0).abs() < 1e-5));
/// # Ok::<(), Error>(())
/// ```
///
/// Needs one thread a pixel, the columns along x, the rows along y and the images along z, of which a launch has at
/// most 65,535. The time grows with the radius. Products and sums are rounded one by one, from
/// `0.0 + weights[0] * …` on, so the bits are the same on every device.
#[kernel(T in [f32, u8])]
#[requires((2 * radius as usize) < weights.len())]
#[requires(y.shape()[1..] == [rows as usize, columns as usize])]
#[requires(y.len() <= x.len())]
pub fn blur_rows(
    at: Index<3>,
    rows: u32,
    columns: u32,
    radius: u32,
    weights: &[f32],
    x: &[T],
    y: &mut Out<[f32]>,
) {
    let Some(y) = y.get_mut(at) else { return };
    let ([image, row, column], columns, radius) = (at.get(), columns as usize, radius as usize);
    let line = (image * rows as usize + row) * columns;
    let taps = 2 * radius + 1;
    let weights = &weights[..taps];
    let mut sum = 0.0;
    if column >= radius && column + radius < columns {
        let first = line + column - radius;
        let near = &x[first..first + taps];
        #[unroll(8)]
        for j in 0..taps {
            sum += weights[j] * near[j] as f32;
        }
    } else {
        // Few pixels are near a border. Turns that NVRTC unrolls here would take registers from all threads.
        #[unroll(1)]
        for j in 0..taps {
            sum += weights[j] * x[line + clamped(column, j, radius, columns)] as f32;
        }
    }
    *y = sum;
}

of_type! {
    blur_rows_f32 = blur_rows<f32>, "floats";
    blur_rows_u8 = blur_rows<u8>, "bytes, to floats that [`struct@blur_columns_u8`] takes";
}

/// The rows that a thread of a blur along columns computes, one below the other.
const RUN: usize = 4;

/// Each pixel's weighted sum along its column: like [`blur_rows`], `y[i, r, c]` is the sum of
/// `weights[j] * x[i, r + j - radius, c]`, and rows beyond the border are the border's own.
///
/// A block of 256 threads, which all launches have, computes tiles of 32 rows and 32 columns, and a thread 4 pixels of
/// a column, so that it reads a pixel once for all four. One block a tile is best:
/// `blur_columns_f32<<<(blocks(columns, 32), blocks(rows, 32), images), 256>>>(rows, columns, radius, &weights, &x,
/// out y)`. Any grid does all of the work.
#[kernel(threads = 256)]
#[requires((2 * radius as usize) < weights.len())]
#[requires(y.shape()[1..] == [rows as usize, columns as usize])]
#[requires(y.len() <= x.len())]
pub fn blur_columns_f32(
    block: Block<3>,
    rows: u32,
    columns: u32,
    radius: u32,
    weights: &[f32],
    x: &[f32],
    y: &mut Out<[f32]>,
) {
    let shape = [rows as usize, columns as usize];
    for at in block.tiles::<32, 32>(y) {
        block.fill_parts(&mut y.tile(at), |t| {
            let part = at.part::<RUN, 1>(t);
            let first = [at.item(), at.top() + part.row(0), at.left() + part.column(0)];
            along_column(first, shape, radius as usize, weights, x)
        });
    }
}

/// [`struct@blur_columns_f32`] to bytes: the sums are rounded to the nearest, ties to even, and clamped to 0 and 255;
/// NaN becomes 0.
#[kernel(threads = 256)]
#[requires((2 * radius as usize) < weights.len())]
#[requires(y.shape()[1..] == [rows as usize, columns as usize])]
#[requires(y.len() <= x.len())]
pub fn blur_columns_u8(
    block: Block<3>,
    rows: u32,
    columns: u32,
    radius: u32,
    weights: &[f32],
    x: &[f32],
    y: &mut Out<[u8]>,
) {
    let shape = [rows as usize, columns as usize];
    for at in block.tiles::<32, 32>(y) {
        block.fill_parts(&mut y.tile(at), |t| {
            let part = at.part::<RUN, 1>(t);
            let first = [at.item(), at.top() + part.row(0), at.left() + part.column(0)];
            let sums = along_column(first, shape, radius as usize, weights, x);
            let mut bytes = [[0_u8; 1]; RUN];
            #[unroll]
            for i in 0..RUN {
                bytes[i][0] = byte(sums[i][0]);
            }
            bytes
        });
    }
}

/// The weighted sums of a run of pixels, of which this is the uppermost, each of its neighbours above and below.
/// Pixels beyond the image have any sum.
#[device]
fn along_column(
    first: [usize; 3],
    shape: [usize; 2],
    radius: usize,
    weights: &[f32],
    x: &[f32],
) -> [[f32; 1]; RUN] {
    let ([image, row, column], [rows, columns]) = (first, shape);
    let mut sums = [[0.0_f32; 1]; RUN];
    if row >= rows || column >= columns {
        return sums;
    }
    let line = &x[image * rows * columns + column..];
    let taps = 2 * radius + 1;
    let weights = &weights[..taps];
    // The pixel at `from + k` has the weight `from + k - i` in the sum `i`: here it is `near[RUN - 1 + k - i]`.
    let mut near = [0.0_f32; 2 * RUN - 1];
    for from in (0..taps + RUN - 1).step_by(RUN) {
        // All of them are under way before the first is needed.
        let mut values = [0.0_f32; RUN];
        #[unroll]
        for k in 0..RUN {
            values[k] = line[clamped(row, from + k, radius, rows) * columns];
        }
        #[unroll]
        for k in 0..RUN - 1 {
            near[k] = near[k + RUN];
        }
        #[unroll]
        for k in 0..RUN {
            near[RUN - 1 + k] = if from + k < taps { weights[from + k] } else { 0.0 };
        }
        if from + 1 >= RUN && from + RUN <= taps {
            #[unroll]
            for k in 0..RUN {
                #[unroll]
                for i in 0..RUN {
                    sums[i][0] += near[RUN - 1 + k - i] * values[k];
                }
            }
        } else {
            // Not each pixel is in each sum: 0 times infinity would be NaN.
            #[unroll]
            for k in 0..RUN {
                #[unroll]
                for i in 0..RUN {
                    if from + k >= i && from + k - i < taps {
                        sums[i][0] += near[RUN - 1 + k - i] * values[k];
                    }
                }
            }
        }
    }
    sums
}

/// The place `offset - back` beyond `at`, clamped to `0..length`.
#[device]
fn clamped(at: usize, offset: usize, back: usize, length: usize) -> usize {
    (at + offset).saturating_sub(back).min(length - 1)
}

/// To the nearest, ties to even, from 0 to 255; NaN becomes 0.
#[device]
fn byte(value: f32) -> u8 {
    value.round_ties_even() as u8
}

/// The columns that a thread of a box blur along rows computes, side by side.
const WIDTH: usize = 4;

/// The first half of a box blur of bytes: `sums[i, r, c]` is the sum of `x[i, r, c - radius]` to
/// `x[i, r, c + radius]`.
///
/// Shapes and border are those of [`blur_rows`]; radii go up to 2,047, so that the second half,
/// [`struct@box_columns_u8`], stays below 2^32. It is exact in integers on every device. (A box blur of floats is
/// [`blur_rows_f32`] and [`struct@blur_columns_f32`] with equal weights.)
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
/// The steepness of each pixel by Sobel's 3 x 3 operators: `sqrt(dx^2 + dy^2)`, where `dx` is the sum of the pixels
/// to the right less that of those to the left, weighted 1, 2, 1, and `dy` is the same for those below and above.
///
/// `x` and `y` are `[images, rows, columns]`; beyond the border are the border's own pixels. The result is not
/// scaled: a step of 1 from column to column gives 4, a ramp with slope 1 gives 8.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::sobel_f32;
///
/// stream_pipeline! {
///     /// An item is an image.
///     pipeline Edges {
///         param rows: u32;
///         param columns: u32;
///         input x: [f32; (rows * columns) as usize];
///         output y: [f32; (rows * columns) as usize];
///         device dy: [f32; (rows * columns) as usize];
///         chunk c = auto;
///         stage load { copy x -> dx; }
///         stage find {
///             sobel_f32<<<(blocks(columns as usize, 32), blocks(rows as usize, 8), c.len), (32, 8)>>>(
///                 rows, columns, &dx, out dy as [c.len, rows as usize, columns as usize]);
///         }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let (x, mut y) = ([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0], [0.0; 8]);
/// Edges::new(&Device::simulated(Simulation::default()))?.run(2, 4, &x, &mut y)?;
/// assert_eq!(y, [0.0, 4.0, 4.0, 0.0, 0.0, 4.0, 4.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// Needs one thread a pixel, as [`blur_rows`] does. Each operation is rounded by itself, so the bits are the same on
/// every device.
#[kernel]
#[requires(y.shape()[1..] == [rows as usize, columns as usize])]
#[requires(y.len() <= x.len())]
pub fn sobel_f32(at: Index<3>, rows: u32, columns: u32, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(at) else { return };
    let [above, here, below, left, right] = around(at.get(), [rows as usize, columns as usize]);
    let column = at.get()[2];
    *y = steepness(
        [x[above + left], x[above + column], x[above + right]],
        [x[here + left], x[here + right]],
        [x[below + left], x[below + column], x[below + right]],
    );
}

/// [`struct@sobel_f32`] of bytes, rounded to the nearest, and at most 255.
#[kernel]
#[requires(y.shape()[1..] == [rows as usize, columns as usize])]
#[requires(y.len() <= x.len())]
pub fn sobel_u8(at: Index<3>, rows: u32, columns: u32, x: &[u8], y: &mut Out<[u8]>) {
    let Some(y) = y.get_mut(at) else { return };
    let [above, here, below, left, right] = around(at.get(), [rows as usize, columns as usize]);
    let column = at.get()[2];
    let pixel = |i: usize| f32::from(x[i]);
    *y = byte(steepness(
        [pixel(above + left), pixel(above + column), pixel(above + right)],
        [pixel(here + left), pixel(here + right)],
        [pixel(below + left), pixel(below + column), pixel(below + right)],
    ));
}

/// The places where the row above a pixel begins, its own and the row below, and the columns to its left and right.
#[device]
fn around(at: [usize; 3], shape: [usize; 2]) -> [usize; 5] {
    let ([image, row, column], [rows, columns]) = (at, shape);
    let first = image * rows;
    let (above, below) = (clamped(row, 0, 1, rows), clamped(row, 2, 1, rows));
    [
        (first + above) * columns,
        (first + row) * columns,
        (first + below) * columns,
        clamped(column, 0, 1, columns),
        clamped(column, 2, 1, columns),
    ]
}

/// The length of the gradient, from the three pixels above, the two beside and the three below.
#[device]
fn steepness(above: [f32; 3], beside: [f32; 2], below: [f32; 3]) -> f32 {
    let dx = one_two_one(above[2], beside[1], below[2]) - one_two_one(above[0], beside[0], below[0]);
    let dy = one_two_one(below[0], below[1], below[2]) - one_two_one(above[0], above[1], above[2]);
    // With bytes, everything below the square root is a whole number that a float holds.
    (dx * dx + dy * dy).sqrt()
}

#[device]
fn one_two_one(a: f32, b: f32, c: f32) -> f32 {
    (a + 2.0 * b) + c
}

/// The `2 * radius + 1` weights of a Gaussian blur, from the farthest on one side to the farthest on the
/// other; their sum is 1.
///
/// `sigma` is the standard deviation in pixels; a radius of 3 `sigma` leaves out 0.3 % of the bell. With 0
/// only the centre has a weight; with infinity all weights are equal, which is a box blur.
///
/// ```
/// let weights = thalweg_kernels::gaussian(1, 1.0);
/// assert!(weights[0] == weights[2] && weights[0] < weights[1]);
/// assert_eq!(thalweg_kernels::gaussian(1, 0.0), [0.0, 1.0, 0.0]);
/// assert_eq!(thalweg_kernels::gaussian(1, f32::INFINITY), [1.0 / 3.0; 3]);
/// ```
pub fn gaussian(radius: u32, sigma: f32) -> Vec<f32> {
    let (radius, sigma) = (i64::from(radius), f64::from(sigma));
    let bell = |distance: i64| {
        let distance = distance as f64 / sigma;
        (-0.5 * distance * distance).exp()
    };
    // With a deviation of 0 the centre would be 0 / 0.
    let weights = (-radius..=radius).map(|distance| if distance == 0 { 1.0 } else { bell(distance) });
    let sum: f64 = weights.clone().sum();
    weights.map(|weight| (weight / sum) as f32).collect()
}
