//! Matrices, row by row: transposition and products.

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::shape::product;

/// The side of the tiles that are transposed at a time, in elements.
const TILE: usize = 32;

/// Rows of the product that one CPU thread makes at a time.
const ROWS: usize = 8;

/// Columns that it makes at a time: with `ROWS`, as many elements as its nearest cache holds.
const COLUMNS: usize = 1024;

#[kernels("../cu/transpose.cu")]
unsafe extern "CUDA" {
    /// Each of `batch` matrices transposed: `y[i, c, r] = x[i, r, c]`, where `x` is `[batch, rows, columns]`
    /// and `y` `[batch, columns, rows]`, both row by row.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg_kernels::transpose;
    ///
    /// stream_pipeline! {
    ///     /// An item is a matrix, so that a chunk is a batch of them.
    ///     pipeline Transpose {
    ///         param rows: u32;
    ///         param columns: u32;
    ///         input x: [f32; (rows * columns) as usize];
    ///         output y: [f32; (rows * columns) as usize];
    ///         device dy: [f32; (rows * columns) as usize];
    ///         chunk c = auto;
    ///         stage load { copy x -> dx; }
    ///         stage turn {
    ///             transpose<<<(blocks(columns as usize, 32), blocks(rows as usize, 32), c.len.min(65_535) as u32), 256>>>(
    ///                 c.len as u32, rows, columns, &dx, out dy);
    ///         }
    ///         stage store { copy dy -> y; }
    ///     }
    /// }
    ///
    /// let mut y = [0.0; 6];
    /// Transpose::new(&Device::simulated(Simulation::default()))?.run(2, 3, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &mut y)?;
    /// assert_eq!(y, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// A block moves tiles of 32 x 32: one block a tile is best, with the columns along x, the rows along y,
    /// the matrices along z, and 256 threads. Any other grid and block does all of the work too. The bits of
    /// the elements stay.
    #[host(transpose_on_host)]
    #[requires(product([batch, rows, columns]) <= x.len())]
    #[requires(product([batch, rows, columns]) <= y.len())]
    pub safe fn transpose(batch: u32, rows: u32, columns: u32, x: &[f32], y: Out<[f32]>);
}

fn transpose_on_host(_: Grid, batch: u32, rows: u32, columns: u32, x: &[f32], y: &mut [f32]) {
    let elements = product([batch, rows, columns]);
    if elements == 0 {
        return;
    }
    let (rows, columns) = (rows as usize, columns as usize);
    let matrices = y[..elements].par_chunks_mut(rows * columns).zip(x.par_chunks(rows * columns));
    matrices.for_each(|(y, x)| {
        let bands = y.par_chunks_mut(TILE * rows).enumerate();
        bands.for_each(|(band, y)| {
            // Tile by tile, so that the lines of `x` stay in the cache from one column to the next.
            for top in (0..rows).step_by(TILE) {
                for (i, line) in y.chunks_exact_mut(rows).enumerate() {
                    let column = band * TILE + i;
                    let end = rows.min(top + TILE);
                    for (r, y) in (top..end).zip(&mut line[top..end]) {
                        *y = x[r * columns + column];
                    }
                }
            }
        });
    });
}

#[kernels("../cu/matmul.cu")]
unsafe extern "CUDA" {
    /// The matrix product `C = A x B`, row by row: `a` is `[m, k]`, `b` is `[k, n]` and `c` is `[m, n]`, all
    /// of any size.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg_kernels::matmul;
    ///
    /// stream_pipeline! {
    ///     /// A matrix larger than the GPU's memory times one that stays there; an item is a row.
    ///     pipeline Product {
    ///         param n: u32;
    ///         param k: u32;
    ///         input a: [f32; k as usize];
    ///         resident b: [f32];
    ///         output z: [f32; n as usize];
    ///         device dz: [f32; n as usize];
    ///         chunk c = auto;
    ///         stage load { copy a -> da; }
    ///         stage multiply {
    ///             matmul<<<(blocks(n as usize, 128), blocks(c.len, 128)), 256>>>(c.len as u32, n, k, &da, &b, out dz);
    ///         }
    ///         stage store { copy dz -> z; }
    ///     }
    /// }
    ///
    /// let (a, b, mut c) = ([1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 0.0, 10.0], [0.0; 4]);
    /// Product::new(&Device::simulated(Simulation::default()))?.run(2, 2, &a, &b, &mut c)?;
    /// assert_eq!(c, [1.0, 21.0, 3.0, 43.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// A block of exactly 256 threads makes tiles of 128 x 128 of `c`, through shared memory and registers;
    /// one block a tile is best. Smaller blocks compute element by element, which is many times slower;
    /// larger ones are refused. Any grid does all of the work. It is a plain kernel to read and to change:
    /// cuBLAS is faster.
    ///
    /// Each element is one sum in `f32` over `k` in ascending order, and 0 where `k` is 0. A GPU rounds each
    /// product and sum once together (fused multiply-add), with the same result for every grid and block but
    /// for the sign of a zero; the host body rounds each. Either differs from the true value by less than
    /// about `k * 2^-23` times the sum of the products' magnitudes.
    #[host(matmul_on_host)]
    #[requires(product([m, k]) <= a.len())]
    #[requires(product([k, n]) <= b.len())]
    #[requires(product([m, n]) <= c.len())]
    pub safe fn matmul(m: u32, n: u32, k: u32, a: &[f32], b: &[f32], c: Out<[f32]>);
}

fn matmul_on_host(_: Grid, m: u32, n: u32, k: u32, a: &[f32], b: &[f32], c: &mut [f32]) {
    let elements = product([m, n]);
    if elements == 0 {
        return;
    }
    let (n, k) = (n as usize, k as usize);
    c[..elements].par_chunks_mut(ROWS * n).enumerate().for_each(|(band, c)| {
        c.fill(0.0);
        let a = &a[band * ROWS * k..];
        for left in (0..n).step_by(COLUMNS) {
            let right = n.min(left + COLUMNS);
            for inner in 0..k {
                let b = &b[inner * n + left..inner * n + right];
                for (row, c) in c.chunks_exact_mut(n).enumerate() {
                    let a = a[row * k + inner];
                    for (c, b) in c[left..right].iter_mut().zip(b) {
                        *c += a * b;
                    }
                }
            }
        }
    });
}
