//! Rows of a table by index.

use rayon::prelude::*;
use thalweg::prelude::*;

use crate::elementwise::{PIECE, threads};

#[kernels("../cu/gather.cu")]
unsafe extern "CUDA" {
    /// Row `i` of `out` is row `index[i]` of `table`, for `i < n`; zeros where the table has no such row.
    ///
    /// `table` has `rows` rows of `width` elements, `out` has `n`. Needs one thread an element of `out`:
    /// `gather_f32<<<blocks(n * width, 256), 256>>>(n, width, rows, &index, &table, out y)`, with `resident table: [f32];` and
    /// `device y: [f32; width];`.
    #[host(gather_on_host)]
    #[requires(rows as u128 * width as u128 <= table.len() as u128)]
    #[requires(n as usize <= index.len())]
    #[requires(n as u128 * width as u128 <= out.len() as u128)]
    pub safe fn gather_f32(n: u32, width: u32, rows: u32, index: &[u32], table: &[f32], out: Out<[f32]>);

    /// As [`gather_f32`], on rows of `u32`.
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
