//! Stencils. Their inputs have halos, so that each chunk sees its neighbours' items.

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::shape::product;

/// Elements that one CPU thread takes at a time.
const PIECE: usize = 1 << 14;

#[kernels("../cu/stencil.cu")]
unsafe extern "CUDA" {
    /// `y[i] = w0 * x[i] + w1 * x[i + 1] + w2 * x[i + 2]` for `i < n`: `x` has `n + 2` elements, those of a
    /// chunk and one more on either side.
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
    ///         stage smooth { stencil_3<<<blocks(c.len, 256), 256>>>(c.len as u32, 0.25, 0.5, 0.25, &dx, out dy); }
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
    /// One thread an element is best; any grid and block does all of the work, and threads with a y or z
    /// other than 0 do nothing. Each product and each sum is rounded by itself, left to right, so the bits
    /// are the same on every device.
    #[host(stencil_3_on_host)]
    #[requires(n as usize + 2 <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn stencil_3(n: u32, w0: f32, w1: f32, w2: f32, x: &[f32], y: Out<[f32]>);

    /// The weighted sum of five: like [`stencil_3`], `y[i] = w0 * x[i] + … + w4 * x[i + 4]` for `i < n`,
    /// where `x` has `n + 4` elements, those of a chunk and two more on either side (`halo 2`).
    ///
    /// Launch, rounding and threads are as there:
    /// `stencil_5<<<blocks(c.len, 256), 256>>>(c.len as u32, w0, w1, w2, w3, w4, &dx, out dy)`.
    #[host(stencil_5_on_host)]
    #[requires(n as usize + 4 <= x.len())]
    #[requires(n as usize <= y.len())]
    pub safe fn stencil_5(n: u32, w0: f32, w1: f32, w2: f32, w3: f32, w4: f32, x: &[f32], y: Out<[f32]>);

    /// One Jacobi step for Laplace's equation on `rows` rows of a grid of `height` rows and `columns`
    /// columns: `v` is the mean of `u`'s four neighbours, and `u` itself on the grid's border, which thus
    /// keeps its values.
    ///
    /// `v` is `[rows, columns]`, and `u` is `[rows + 2, columns]`: the same rows, with one more above and
    /// below. Row 0 of `v` is row `first` of the grid.
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
    ///             jacobi<<<(blocks(columns as usize, 32), blocks(c.len, 8).min(65_535)), (32, 8)>>>(
    ///                 c.len as u32, columns, c.start as u32, height, &du, out dv);
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
    /// One thread an element is best, the columns along x and the rows along y; any grid and block does all
    /// of the work, and threads with a z other than 0 do nothing. `0.25 * ((above + below) + (left + right))`
    /// is rounded at each step, so the bits are the same on every device.
    #[host(jacobi_on_host)]
    #[requires((rows as usize + 2) * columns as usize <= u.len())]
    #[requires(product([rows, columns]) <= v.len())]
    pub safe fn jacobi(rows: u32, columns: u32, first: u32, height: u32, u: &[f32], v: Out<[f32]>);
}

fn stencil_3_on_host(_: Grid, n: u32, w0: f32, w1: f32, w2: f32, x: &[f32], y: &mut [f32]) {
    weigh([w0, w1, w2], &x[..n as usize + 2], &mut y[..n as usize]);
}

#[allow(clippy::too_many_arguments, reason = "as many as the kernel has")]
fn stencil_5_on_host(_: Grid, n: u32, w0: f32, w1: f32, w2: f32, w3: f32, w4: f32, x: &[f32], y: &mut [f32]) {
    weigh([w0, w1, w2, w3, w4], &x[..n as usize + 4], &mut y[..n as usize]);
}

/// The weighted sums of `N` elements of `x`, beginning at each element.
fn weigh<const N: usize>(weights: [f32; N], x: &[f32], y: &mut [f32]) {
    y.par_chunks_mut(PIECE).enumerate().for_each(|(piece, y)| {
        for (x, y) in x[piece * PIECE..].windows(N).zip(y) {
            let products = weights.iter().zip(x).map(|(w, x)| w * x);
            // The first product begins the sum: with 0.0 before it, a sum of -0.0 would be lost.
            *y = products.reduce(|sum, product| sum + product).unwrap_or(0.0);
        }
    });
}

fn jacobi_on_host(_: Grid, rows: u32, columns: u32, first: u32, height: u32, u: &[f32], v: &mut [f32]) {
    let elements = product([rows, columns]);
    if elements == 0 {
        return;
    }
    let (columns, first, height) = (columns as usize, first as usize, height as usize);
    v[..elements].par_chunks_mut(columns).enumerate().for_each(|(r, v)| {
        let line = |r: usize| &u[r * columns..(r + 1) * columns];
        let (above, here, below) = (line(r), line(r + 1), line(r + 2));
        v.copy_from_slice(here);
        let row = first + r;
        if 0 < row && row + 1 < height {
            for c in 1..columns.saturating_sub(1) {
                v[c] = 0.25 * ((above[c] + below[c]) + (here[c - 1] + here[c + 1]));
            }
        }
    });
}
