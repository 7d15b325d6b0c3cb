//! The product on several devices.

use thalweg::prelude::*;
use thalweg_libraries::cublas::{self, Gemm};

use super::matrices::Shape;
use super::product::{CHUNK, DEPTH};

// ANCHOR: shared
stream_pipeline! {
    /// The rows of A and C pass by, dealt to the devices; the same columns of B are on each of them.
    pub pipeline SharedRows {
        param k: usize;
        param columns: usize;
        param height: usize;
        input a: [f32; k];
        resident b: [f32];
        output c: [f32; columns];
        device dc: [f32; columns];

        chunk rows = height;
        depth = DEPTH;
        stream up: high;
        stream math;
        stream down: low;

        stage load     on up   { copy a -> da; }
        stage multiply on math {
            call cublas::gemm_out(Gemm::new(rows.len, columns, k), 1.0, &da, &b, out dc);
        }
        stage store    on down { copy dc -> c; }
    }
}
// ANCHOR_END: shared

// ANCHOR: multiply
/// The pipeline, kept from product to product with its memory.
pub struct OnSeveral {
    /// Bytes of each device's memory that a product may use.
    budget: usize,
    rows: SharedRows,
}

impl OnSeveral {
    /// Makes the pipeline for products that use up to `budget` bytes of each device's memory.
    pub fn new(devices: &[Device], budget: usize) -> thalweg::Result<Self> {
        Ok(Self { budget, rows: SharedRows::new(devices)? })
    }

    /// C = A x B, some columns of C after others. Returns in how many parts.
    pub fn multiply(
        &mut self,
        shape: Shape,
        a: &PinnedBuf<f32>,
        b: &PinnedBuf<f32>,
        c: &mut PinnedBuf<f32>,
    ) -> thalweg::Result<usize> {
        let Shape { n, k, .. } = shape;
        if shape.is_empty() {
            c.fill(0.0);
            return Ok(0);
        }
        // Half of the budget for columns of B, and what they leave for rows of A and C.
        let column = size_of::<f32>() * k;
        let columns = (self.budget / 2 / column).clamp(1, n);
        let row = size_of::<f32>() * (k + columns);
        let height = (self.budget.saturating_sub(columns * column) / (DEPTH * row)).clamp(1, CHUNK);
        if columns == n {
            self.rows.run(k, n, height, a, b, c)?;
            return Ok(1);
        }
        for first in (0..n).step_by(columns) {
            let columns = columns.min(n - first);
            let part = columns_of(b, n, first, columns);
            // The rows of this part of C stand apart.
            let stored = sink::for_each(|rows, part: &[f32]| {
                for (row, entries) in (rows.start..).zip(part.chunks(columns)) {
                    c[row * n + first..][..columns].copy_from_slice(entries);
                }
                Ok(())
            });
            self.rows.run(k, columns, height, a, &part, stored)?;
        }
        Ok(n.div_ceil(columns))
    }
}

/// Some columns of a matrix of `n` columns, row by row.
fn columns_of(matrix: &[f32], n: usize, first: usize, columns: usize) -> Vec<f32> {
    matrix.chunks(n).flat_map(|row| &row[first..][..columns]).copied().collect()
}
// ANCHOR_END: multiply
