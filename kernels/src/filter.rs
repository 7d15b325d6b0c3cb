//! Filters of single-channel images: blurs and edges.
//!
//! Images are `[images, rows, columns]`, so that an item of a pipeline is an image. Beyond the border of an
//! image lies the border's own pixel (`clamp`).

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::shape::product;

#[kernels("../cu/filter.cu")]
unsafe extern "CUDA" {
    /// Each pixel's weighted sum along its row: `y[i, r, c]` is the sum of
    /// `weights[j] * x[i, r, c + j - radius]` for `j <= 2 * radius`.
    ///
    /// `x` and `y` are `[images, rows, columns]`, `radius` is in pixels, and `weights` has at least
    /// `2 * radius + 1` elements; columns beyond the border are the border's own. With [`blur_columns_f32`]
    /// after it, it is any separable filter: a Gaussian blur with the weights of [`gaussian`], a box blur
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
    ///             blur_rows_f32<<<(blocks(columns as usize, 32), blocks(rows as usize, 8), c.len.min(65_535) as u32), (32, 8)>>>(
    ///                 c.len as u32, rows, columns, radius, &weights, &dx, out t);
    ///             blur_columns_f32<<<(blocks(columns as usize, 32), blocks(rows as usize, 8), c.len.min(65_535) as u32), (32, 8)>>>(
    ///                 c.len as u32, rows, columns, radius, &weights, &t, out dy);
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
    /// One thread a pixel is best, the columns along x, the rows along y and the images along z; any grid and
    /// block does all of the work. The time grows with the radius. Products and sums are rounded one by one,
    /// from `0.0 + weights[0] * …` on, so the bits are the same on every device.
    #[host(blur_rows_on_host)]
    #[requires((2 * radius as usize) < weights.len())]
    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn blur_rows_f32(
        images: u32,
        rows: u32,
        columns: u32,
        radius: u32,
        weights: &[f32],
        x: &[f32],
        y: Out<[f32]>,
    );

    /// [`blur_rows_f32`] of bytes, to floats that [`blur_columns_u8`] takes.
    #[host(blur_rows_on_host)]
    #[requires((2 * radius as usize) < weights.len())]
    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn blur_rows_u8(
        images: u32,
        rows: u32,
        columns: u32,
        radius: u32,
        weights: &[f32],
        x: &[u8],
        y: Out<[f32]>,
    );

    /// Each pixel's weighted sum along its column: like [`blur_rows_f32`], `y[i, r, c]` is the sum of
    /// `weights[j] * x[i, r + j - radius, c]`, and rows beyond the border are the border's own.
    #[host(blur_columns_on_host)]
    #[requires((2 * radius as usize) < weights.len())]
    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn blur_columns_f32(
        images: u32,
        rows: u32,
        columns: u32,
        radius: u32,
        weights: &[f32],
        x: &[f32],
        y: Out<[f32]>,
    );

    /// [`blur_columns_f32`] to bytes: the sums are rounded to the nearest, ties to even, and clamped to 0 and
    /// 255; NaN becomes 0.
    #[host(blur_columns_on_host)]
    #[requires((2 * radius as usize) < weights.len())]
    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn blur_columns_u8(
        images: u32,
        rows: u32,
        columns: u32,
        radius: u32,
        weights: &[f32],
        x: &[f32],
        y: Out<[u8]>,
    );

    /// The first half of a box blur of bytes: `sums[i, r, c]` is the sum of `x[i, r, c - radius]` to
    /// `x[i, r, c + radius]`.
    ///
    /// Shapes, border and launch are those of [`blur_rows_f32`]; radii go up to 2,047, so that the second
    /// half, [`box_columns_u8`], stays below 2^32. It is exact in integers on every device. (A box blur of
    /// floats is [`blur_rows_f32`] and [`blur_columns_f32`] with equal weights.)
    #[host(box_rows_on_host)]
    #[requires(radius <= 2047)]
    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= sums.len())]
    pub safe fn box_rows_u8(images: u32, rows: u32, columns: u32, radius: u32, x: &[u8], sums: Out<[u32]>);

    /// The second half of a box blur of bytes: `y[i, r, c]` is the mean of `(2 * radius + 1)^2` pixels, from
    /// the sums of [`box_rows_u8`] with the same radius. Halves are rounded up.
    ///
    /// A thread walks down 32 rows of a column, so that its time hardly grows with the radius:
    /// `box_columns_u8<<<(blocks(columns, 32), blocks(rows, 8 * 32), images), (32, 8)>>>(images, rows,
    /// columns, radius, &sums, out y)`. Any grid and block does all of the work. Sums that are not sums of
    /// bytes are added modulo 2^32.
    #[host(box_columns_on_host)]
    #[requires(radius <= 2047)]
    #[requires(product([images, rows, columns]) <= sums.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn box_columns_u8(images: u32, rows: u32, columns: u32, radius: u32, sums: &[u32], y: Out<[u8]>);

    /// The steepness of each pixel by Sobel's 3 x 3 operators: `sqrt(dx^2 + dy^2)`, where `dx` is the sum of
    /// the pixels to the right less that of those to the left, weighted 1, 2, 1, and `dy` is the same for
    /// those below and above.
    ///
    /// `x` and `y` are `[images, rows, columns]`; beyond the border are the border's own pixels. The result
    /// is not scaled: a step of 1 from column to column gives 4, a ramp with slope 1 gives 8.
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
    ///             sobel_f32<<<(blocks(columns as usize, 32), blocks(rows as usize, 8), c.len.min(65_535) as u32), (32, 8)>>>(
    ///                 c.len as u32, rows, columns, &dx, out dy);
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
    /// One thread a pixel is best; any grid and block does all of the work. Each operation is rounded by
    /// itself, so the bits are the same on every device.
    #[host(sobel_on_host)]
    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn sobel_f32(images: u32, rows: u32, columns: u32, x: &[f32], y: Out<[f32]>);

    /// [`sobel_f32`] of bytes, rounded to the nearest, and at most 255.
    #[host(sobel_on_host)]
    #[requires(product([images, rows, columns]) <= x.len())]
    #[requires(product([images, rows, columns]) <= y.len())]
    pub safe fn sobel_u8(images: u32, rows: u32, columns: u32, x: &[u8], y: Out<[u8]>);
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

/// The pixels that the filters work on.
trait Pixel: Copy + Send + Sync {
    fn float(self) -> f32;
    fn from_float(value: f32) -> Self;
}

impl Pixel for f32 {
    fn float(self) -> f32 {
        self
    }

    fn from_float(value: f32) -> Self {
        value
    }
}

impl Pixel for u8 {
    fn float(self) -> f32 {
        self.into()
    }

    fn from_float(value: f32) -> Self {
        value.round_ties_even() as u8
    }
}

/// The place `offset - back` beyond `at`, clamped to `0..length`.
fn clamped(at: usize, offset: usize, back: usize, length: usize) -> usize {
    (at + offset).saturating_sub(back).min(length - 1)
}

/// Calls `fill` for every row of `y`, with the row's image in `x` and its place there.
fn each_row<X: Sync, Y: Send>(
    [images, rows, columns]: [u32; 3],
    x: &[X],
    y: &mut [Y],
    fill: impl Fn(&[X], usize, &mut [Y]) + Sync,
) {
    let elements = product([images, rows, columns]);
    if elements == 0 {
        return;
    }
    let (rows, columns) = (rows as usize, columns as usize);
    y[..elements].par_chunks_mut(columns).enumerate().for_each(|(line, y)| {
        let image = &x[line / rows * rows * columns..][..rows * columns];
        fill(image, line % rows, y);
    });
}

#[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
fn blur_rows_on_host<P: Pixel>(
    _: Grid,
    images: u32,
    rows: u32,
    columns: u32,
    radius: u32,
    weights: &[f32],
    x: &[P],
    y: &mut [f32],
) {
    let (columns_, radius) = (columns as usize, radius as usize);
    let weights = &weights[..2 * radius + 1];
    each_row([images, rows, columns], x, y, |image, row, y| {
        let line = &image[row * columns_..][..columns_];
        for (column, y) in y.iter_mut().enumerate() {
            let taps = weights.iter().enumerate();
            let products = taps.map(|(j, w)| w * line[clamped(column, j, radius, columns_)].float());
            *y = products.fold(0.0, |sum, product| sum + product);
        }
    });
}

#[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
fn blur_columns_on_host<P: Pixel>(
    _: Grid,
    images: u32,
    rows: u32,
    columns: u32,
    radius: u32,
    weights: &[f32],
    x: &[f32],
    y: &mut [P],
) {
    let (rows_, columns_, radius) = (rows as usize, columns as usize, radius as usize);
    let weights = &weights[..2 * radius + 1];
    each_row([images, rows, columns], x, y, |image, row, y| {
        let mut sums = vec![0.0; columns_];
        for (j, w) in weights.iter().enumerate() {
            let line = &image[clamped(row, j, radius, rows_) * columns_..];
            for (sum, x) in sums.iter_mut().zip(line) {
                *sum += w * x;
            }
        }
        for (y, sum) in y.iter_mut().zip(sums) {
            *y = P::from_float(sum);
        }
    });
}

fn box_rows_on_host(_: Grid, images: u32, rows: u32, columns: u32, radius: u32, x: &[u8], sums: &mut [u32]) {
    let (columns_, radius) = (columns as usize, radius as usize);
    each_row([images, rows, columns], x, sums, |image, row, sums| {
        let line = &image[row * columns_..][..columns_];
        let at = |column, offset| u32::from(line[clamped(column, offset, radius, columns_)]);
        // From one pixel to the next, one value comes in and one goes out.
        let mut sum: u32 = (0..=2 * radius).map(|offset| at(0, offset)).sum();
        for (column, y) in sums.iter_mut().enumerate() {
            *y = sum;
            sum = sum + at(column + 1, 2 * radius) - at(column, 0);
        }
    });
}

fn box_columns_on_host(
    _: Grid,
    images: u32,
    rows: u32,
    columns: u32,
    radius: u32,
    sums: &[u32],
    y: &mut [u8],
) {
    let (rows_, columns_) = (rows as usize, columns as usize);
    let area = (2 * radius + 1) * (2 * radius + 1);
    let radius = radius as usize;
    each_row([images, rows, columns], sums, y, |image, row, y| {
        let mut totals = vec![0_u32; columns_];
        for offset in 0..=2 * radius {
            let line = &image[clamped(row, offset, radius, rows_) * columns_..];
            for (total, sum) in totals.iter_mut().zip(line) {
                *total = total.wrapping_add(*sum);
            }
        }
        for (y, total) in y.iter_mut().zip(totals) {
            *y = (total.wrapping_add(area / 2) / area) as u8;
        }
    });
}

fn sobel_on_host<P: Pixel>(_: Grid, images: u32, rows: u32, columns: u32, x: &[P], y: &mut [P]) {
    let (rows_, columns_) = (rows as usize, columns as usize);
    each_row([images, rows, columns], x, y, |image, row, y| {
        let line = |row| &image[row * columns_..][..columns_];
        let (above, here, below) =
            (line(clamped(row, 0, 1, rows_)), line(row), line(clamped(row, 2, 1, rows_)));
        let one_two_one = |a: P, b: P, c: P| (a.float() + 2.0 * b.float()) + c.float();
        for (column, y) in y.iter_mut().enumerate() {
            let (left, right) = (clamped(column, 0, 1, columns_), clamped(column, 2, 1, columns_));
            let dx = one_two_one(above[right], here[right], below[right])
                - one_two_one(above[left], here[left], below[left]);
            let dy = one_two_one(below[left], below[column], below[right])
                - one_two_one(above[left], above[column], above[right]);
            *y = P::from_float((dx * dx + dy * dy).sqrt());
        }
    });
}
