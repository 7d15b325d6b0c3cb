//! Rows of a table by index.

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::elementwise::{PIECE, threads};

#[kernels("../cu/gather.cu")]
unsafe extern "CUDA" {
    /// Row `i` of `out` is row `index[i]` of `table`, for `i < n`, or zeros if the table has no such row.
    ///
    /// `table` is `[rows, width]`, `index` has `n` elements, and `out` is `[n, width]`; all sizes count
    /// elements. Needs one thread an element of `out`.
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg_kernels::gather_f32;
    ///
    /// stream_pipeline! {
    ///     /// An item is an index, and the row that it stands for.
    ///     pipeline LookUp {
    ///         param width: u32;
    ///         param rows: u32;
    ///         resident table: [f32];
    ///         input index: [u32];
    ///         output found: [f32; width as usize];
    ///         device df: [f32; width as usize];
    ///         chunk c = auto;
    ///         stage load { copy index -> di; }
    ///         stage gather {
    ///             gather_f32<<<blocks(c.len * width as usize, 256), 256>>>(
    ///                 c.len as u32, width, rows, &di, &table, out df);
    ///         }
    ///         stage store { copy df -> found; }
    ///     }
    /// }
    ///
    /// let table = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]; // 3 rows of 2
    /// let mut found = [0.0; 8];
    /// let mut look_up = LookUp::new(&Device::simulated(Simulation::h200()))?;
    /// look_up.run(2, 3, &table, &[2, 0, 2, 3], &mut found)?;
    /// assert_eq!(found, [2.0, 2.5, 0.0, 0.5, 2.0, 2.5, 0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    #[host(gather_on_host)]
    #[requires(rows as u128 * width as u128 <= table.len() as u128)]
    #[requires(n as usize <= index.len())]
    #[requires(n as u128 * width as u128 <= out.len() as u128)]
    pub safe fn gather_f32(n: u32, width: u32, rows: u32, index: &[u32], table: &[f32], out: Out<[f32]>);

    /// Does the same as [`gather_f32`] on rows of `u32`.
    #[host(gather_on_host)]
    #[requires(rows as u128 * width as u128 <= table.len() as u128)]
    #[requires(n as usize <= index.len())]
    #[requires(n as u128 * width as u128 <= out.len() as u128)]
    pub safe fn gather_u32(n: u32, width: u32, rows: u32, index: &[u32], table: &[u32], out: Out<[u32]>);
}

fn gather_on_host<T: Pod + Send + Sync>(
    launch: Grid,
    n: u32,
    width: u32,
    rows: u32,
    index: &[u32],
    table: &[T],
    out: &mut [T],
) {
    let width = width as usize;
    if width == 0 {
        return;
    }
    let covered = threads(launch).min(n as usize * width);
    let in_piece = PIECE.div_ceil(width);
    let pieces = out[..covered].par_chunks_mut(in_piece * width).zip(index.par_chunks(in_piece));
    pieces.for_each(|(out, index)| {
        for (out, &row) in out.chunks_mut(width).zip(index) {
            if row < rows {
                out.copy_from_slice(&table[row as usize * width..][..out.len()]);
            } else {
                out.fill(T::zeroed());
            }
        }
    });
}
