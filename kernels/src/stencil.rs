//! Stencils. Their inputs have halos, so that each chunk sees its neighbours' items.

use thalweg::prelude::*;

/// `y[i] = w0 * x[i] + w1 * x[i + 1] + w2 * x[i + 2]`: `x` has two elements more than `y`, those of a chunk and
/// one more on either side.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::stencil_3;
///
/// stream_pipeline! {
///     pipeline Smooth {
///         input x: [f32] halo 1 = clamp;
///         output y: [f32];
///         device dy: [f32];
///         chunk c = auto;
///         stage load { copy x -> dx; }
///         stage smooth { stencil_3<<<blocks(c.len, 256), 256>>>(0.25, 0.5, 0.25, &dx, out dy); }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let mut y = [0.0; 4];
/// Smooth::new(&Device::simulated(Simulation::default()))?.run(&[0.0, 4.0, 0.0, 8.0], &mut y)?;
/// assert_eq!(y, [1.0, 2.0, 3.0, 6.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// Needs one thread an element of `y`. Each product and each sum is rounded by itself, left to right, so the
/// bits are the same on every device.
#[kernel]
#[requires(y.len() + 2 <= x.len())]
pub fn stencil_3(i: Index, w0: f32, w1: f32, w2: f32, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let i = i.get();
    *y = w0 * x[i] + w1 * x[i + 1] + w2 * x[i + 2];
}

/// The weighted sum of five: like [`struct@stencil_3`], `y[i] = w0 * x[i] + … + w4 * x[i + 4]`, where `x` has four
/// elements more than `y`, those of a chunk and two more on either side (`halo 2`).
///
/// Launch and rounding are as there:
/// `stencil_5<<<blocks(c.len, 256), 256>>>(w0, w1, w2, w3, w4, &dx, out dy)`.
#[kernel]
#[requires(y.len() + 4 <= x.len())]
pub fn stencil_5(i: Index, w0: f32, w1: f32, w2: f32, w3: f32, w4: f32, x: &[f32], y: &mut Out<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    let i = i.get();
    *y = w0 * x[i] + w1 * x[i + 1] + w2 * x[i + 2] + w3 * x[i + 3] + w4 * x[i + 4];
}

/// One Jacobi step for Laplace's equation on some rows of a grid of `height` rows and `columns` columns: `v` is
/// the mean of `u`'s four neighbours, and `u` itself on the grid's border, which thus keeps its values.
///
/// `v` is `[rows, columns]`, and `u` is `[rows + 2, columns]`: the same rows, with one more above and below.
/// Row 0 of `v` is row `first` of the grid.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::jacobi;
///
/// stream_pipeline! {
///     /// An item is a row.
///     pipeline Step {
///         param columns: u32;
///         param height: u32;
///         input u: [f32; columns as usize] halo 1 = clamp;
///         output v: [f32; columns as usize];
///         device dv: [f32; columns as usize];
///         chunk c = auto;
///         stage load { copy u -> du; }
///         stage step {
///             jacobi<<<(blocks(columns as usize, 32), blocks(c.len, 8)), (32, 8)>>>(
///                 columns, c.start as u32, height, &du, out dv as [c.len, columns as usize]);
///         }
///         stage store { copy dv -> v; }
///     }
/// }
///
/// let (u, mut v) = ([4.0, 4.0, 4.0, 4.0, 0.0, 8.0, 4.0, 0.0, 4.0], [0.0; 9]);
/// Step::new(&Device::simulated(Simulation::default()))?.run(3, 3, &u, &mut v)?;
/// assert_eq!(v, [4.0, 4.0, 4.0, 4.0, 4.0, 8.0, 4.0, 0.0, 4.0]);
/// # Ok::<(), Error>(())
/// ```
///
/// Needs one thread an element of `v`, the columns along x and the rows along y. A grid has at most 65,535
/// blocks along y: with 8 rows a block, a chunk has at most 524,280 rows.
/// `0.25 * ((above + below) + (left + right))` is rounded at each step, so the bits are the same on every
/// device.
#[kernel]
#[requires(v.shape()[1] == columns as usize)]
#[requires(v.len() + 2 * columns as usize <= u.len())]
pub fn jacobi(at: Index<2>, columns: u32, first: u32, height: u32, u: &[f32], v: &mut Out<[f32]>) {
    let Some(v) = v.get_mut(at) else { return };
    let ([r, c], columns) = (at.get(), columns as usize);
    let row = first as usize + r;
    let here = (r + 1) * columns + c;
    *v = if row > 0 && row + 1 < height as usize && c > 0 && c + 1 < columns {
        0.25 * ((u[here - columns] + u[here + columns]) + (u[here - 1] + u[here + 1]))
    } else {
        u[here]
    };
}
