//! Matrices, row by row: transposition and products.

use thalweg::prelude::*;

/// The side of the tiles that are transposed at a time, in elements.
const SIDE: usize = 32;

/// Each of a batch of matrices transposed: `y[i, c, r] = x[i, r, c]`, where `y` is `[batch, columns, rows]` and `x`
/// `[batch, rows, columns]`, both row by row.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::transpose;
///
/// stream_pipeline! {
///     /// An item is a matrix, so that a chunk is a batch of them.
///     pipeline Transpose {
///         param rows: usize;
///         param columns: usize;
///         input x: [f32; rows * columns];
///         output y: [f32; rows * columns];
///         device dy: [f32; rows * columns];
///         chunk c = auto;
///         stage load { copy x -> dx; }
///         stage turn {
///             transpose<<<(blocks(rows, 32), blocks(columns, 32).min(65_535), c.len.min(65_535) as u32), 256>>>(
///                 &dx, out dy as [c.len, columns, rows]);
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
/// The shape of `y` stands at the launch. A block moves tiles of 32 x 32: one block a tile is best, with the columns
/// of `y` along x, its rows along y, the matrices along z, and 256 threads. Any other grid does all of the work too,
/// and so does any number of threads along x. The bits of the elements stay.
#[kernel]
#[requires(y.len() <= x.len())]
pub fn transpose(block: Block<3>, x: &[f32], y: &mut Out<[f32]>) {
    // A tile goes through shared memory, so that reads and writes are both along rows. The column of padding puts
    // the elements of a tile's column into different banks.
    let mut tile = block.shared_padded::<[[f32; SIDE]; SIDE], 1>();
    let [_, rows, columns] = block.shape(y);
    for at in block.tiles::<SIDE, SIDE>(y) {
        // The tile of `x` that becomes this one of `y`, and the rows of the matrices above.
        let (top, left, above) = (at.left(), at.top(), at.item() * columns);
        block.fill(&mut tile, |[r, c]| {
            let (row, column) = (top + r, left + c);
            if row < columns && column < rows { x[(above + row) * rows + column] } else { 0.0 }
        });
        block.fill(&mut y.tile(at), |[r, c]| tile[c][r]);
    }
}

/// The side of the tiles of a product that a block makes.
const TILE: usize = 128;

/// The columns of `a`, and rows of `b`, that a block holds at a time.
const DEPTH: usize = 8;

/// The matrix product `C = A x B`, row by row: `a` is `[m, k]`, `b` is `[k, n]` and `c` is `[m, n]`, all of any size.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::matmul;
///
/// stream_pipeline! {
///     /// A matrix larger than the GPU's memory times one that stays there; an item is a row.
///     pipeline Product {
///         param n: usize;
///         param k: usize;
///         input a: [f32; k];
///         resident b: [f32];
///         output z: [f32; n];
///         device dz: [f32; n];
///         chunk c = auto;
///         stage load { copy a -> da; }
///         stage multiply {
///             matmul<<<(blocks(n, 128), blocks(c.len, 128).min(65_535)), 256>>>(
///                 k as u32, &da, &b, out dz as [c.len, n]);
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
/// The shape of `c` stands at the launch. A block of 256 threads, which all launches have, makes tiles of 128 x 128 of
/// `c`, through shared memory and registers; one block a tile is best. Any grid does all of the work. It is a plain
/// kernel to read and to change: cuBLAS is faster.
///
/// Each element is one sum in `f32` over `k` in ascending order, and 0 where `k` is 0. Each product and sum are rounded
/// once together (fused multiply-add), so that the bits are the same on every device and for every grid. They
/// differ from the true value by less than about `k * 2^-23` times the sum of the products' magnitudes.
#[kernel(threads = 256)]
#[requires(c.shape()[0].saturating_mul(k as usize) <= a.len())]
#[requires(c.shape()[1].saturating_mul(k as usize) <= b.len())]
pub fn matmul(block: Block<2>, k: u32, a: &[f32], b: &[f32], c: &mut Out<[f32]>) {
    // A strip of `a` lies in shared memory turned, so that a thread finds four of its rows in a row. Four elements of
    // padding keep both its writes and its reads free of bank conflicts.
    let mut rows = block.shared_padded::<[[f32; TILE]; DEPTH], 4>();
    let mut columns = block.shared_padded::<[[f32; TILE]; DEPTH], 4>();
    let [m, n] = block.shape(c);
    let k = k as usize;
    for at in block.tiles::<TILE, TILE>(c) {
        let mut sums = block.private([[0.0_f32; 8]; 8]);
        // The next strips are on their way while the block computes with the ones before. Zeros beyond the border only
        // reach elements beyond it, or add nothing to a sum that is complete.
        let mut next_rows = block.fetch_columns::<[[f32; TILE]; DEPTH]>(|[inner, row]| {
            let row = at.top() + row;
            if row < m && inner < k { a[row * k + inner] } else { 0.0 }
        });
        let mut next_columns = block.fetch::<[[f32; TILE]; DEPTH]>(|[inner, column]| {
            let column = at.left() + column;
            if inner < k && column < n { b[inner * n + column] } else { 0.0 }
        });
        for from in (0..k).step_by(DEPTH) {
            block.fill_fetched(&mut rows, &next_rows);
            block.fill_fetched(&mut columns, &next_columns);
            let next = from + DEPTH;
            if next < k {
                next_rows = block.fetch_columns::<[[f32; TILE]; DEPTH]>(|[inner, row]| {
                    let (row, inner) = (at.top() + row, next + inner);
                    if row < m && inner < k { a[row * k + inner] } else { 0.0 }
                });
                next_columns = block.fetch::<[[f32; TILE]; DEPTH]>(|[inner, column]| {
                    let (inner, column) = (next + inner, at.left() + column);
                    if inner < k && column < n { b[inner * n + column] } else { 0.0 }
                });
            }
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
