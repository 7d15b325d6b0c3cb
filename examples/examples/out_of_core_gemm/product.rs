//! The product on one device.

use thalweg::prelude::*;
use thalweg_libraries::cublas::{self, Gemm};

use super::matrices::Shape;

// ANCHOR: rows
stream_pipeline! {
    /// The rows of A and C pass by; all of B is on the device.
    pub pipeline Rows {
        param n: usize;
        param k: usize;
        input a: [f32; k];
        resident b: device [f32];
        output c: [f32; n];
        device dc: [f32; n];

        chunk rows = CHUNK;
        depth = DEPTH;
        stream up: high;
        stream math;
        stream down: low;

        stage load     on up   { copy a -> da; }
        stage multiply on math {
            call cublas::gemm_out(Gemm::new(rows.len, n, k), 1.0, &da, &b, out dc);
        }
        stage store    on down { copy dc -> c; }
    }
}
// ANCHOR_END: rows

// ANCHOR: keep
stream_pipeline! {
    /// The rows of B pass by and stay; a few rows of A and C are on the device.
    pub pipeline FirstRows {
        param shape: Shape;
        resident a: [f32];
        input b: [f32; shape.n];
        output kept: device [f32; shape.n];
        carry c: [f32; shape.m * shape.n] = 0.0;

        chunk panel = PANEL;
        depth = DEPTH;
        stream up: high;
        stream math;

        stage load     on up   { copy b -> kept; }
        stage multiply on math {
            call add_panel(shape, panel.start, panel.len, &a, &kept, &mut c);
        }
    }
}
// ANCHOR_END: keep

// ANCHOR: panels
stream_pipeline! {
    /// The rows of B pass by; as many rows of A and C as fit are on the device.
    pub pipeline Panels {
        param shape: Shape;
        param rows: usize;
        resident a: [f32];
        input b: [f32; shape.n];
        carry c: [f32; shape.m * shape.n] = 0.0;

        chunk panel = rows;
        depth = DEPTH;
        stream up: high;
        stream math;

        stage load     on up   { copy b -> db; }
        stage multiply on math {
            call add_panel(shape, panel.start, panel.len, &a, &db, &mut c);
        }
    }
}

/// `C += A[.., first..first + len] x B[first..first + len, ..]`: cuBLAS, with the distance
/// from row to row of A.
fn add_panel(
    queue: &Enqueue<'_>,
    Shape { m, n, k }: Shape,
    first: usize,
    len: usize,
    a: DeviceSlice<'_, f32>,
    b: DeviceSlice<'_, f32>,
    c: DeviceSliceMut<'_, f32>,
) -> thalweg::Result<()> {
    let Some(columns) = a.get(first..) else {
        return Err(Error::routine("add_panel", "A is too short"));
    };
    cublas::gemm(queue, Gemm::new(m, n, len).lda(k), 1.0, columns, b, 1.0, c)
}
// ANCHOR_END: panels

/// Rows of A that are multiplied while B comes in: on an H200 their product takes as long as the copy of B.
const FIRST: usize = 2048;

/// Rows of A in a chunk: few, since nothing hides the copies of the first ones in and the last ones out.
pub const CHUNK: usize = 256;

/// Rows of B in a chunk: with fewer, adding to C takes longer.
const PANEL: usize = 1024;

/// Ring slots.
pub const DEPTH: usize = 3;

// ANCHOR: multiply
/// The pipelines, kept from product to product with their memory.
pub struct OutOfCore {
    device: Device,
    /// Bytes of device memory that a product may use.
    budget: usize,
    rows: Rows,
    first: FirstRows,
    panels: Panels,
    /// B, where it fits.
    kept: Option<DeviceBuf<f32>>,
}

impl OutOfCore {
    /// Makes the pipelines for products that use up to `budget` bytes of device memory.
    pub fn new(device: &Device, budget: usize) -> thalweg::Result<Self> {
        Ok(Self {
            device: device.clone(),
            budget,
            rows: Rows::new(device)?,
            first: FirstRows::new(device)?,
            panels: Panels::options(device).budget(budget).build()?,
            kept: None,
        })
    }

    /// C = A x B. Returns the number of times that B was copied to the device.
    pub fn multiply(
        &mut self,
        shape: Shape,
        a: &PinnedBuf<f32>,
        b: &PinnedBuf<f32>,
        c: &mut PinnedBuf<f32>,
    ) -> thalweg::Result<usize> {
        let Shape { m, n, k } = shape;
        if shape.is_empty() {
            c.fill(0.0);
            return Ok(0);
        }
        let row = size_of::<f32>() * (n + k);
        if size_of::<f32>() * k * n + (FIRST + DEPTH * CHUNK) * row <= self.budget {
            let first = FIRST.min(m);
            let kept = match &mut self.kept {
                Some(kept) if kept.len() == b.len() => kept,
                // The old one goes before the new one comes.
                none => {
                    *none = None;
                    none.insert(DeviceBuf::zeroed(&self.device, b.len())?)
                }
            };
            let part = Shape { m: first, ..shape };
            let (first_a, first_c) = (a.slice(..first * k)?, c.slice_mut(..first * n)?);
            self.first.run(part, first_a, b, &mut *kept, first_c)?;
            let (rest_a, rest_c) = (a.slice(first * k..)?, c.slice_mut(first * n..)?);
            self.rows.run(n, k, rest_a, &*kept, rest_c)?;
            return Ok(1);
        }
        // Half of the budget for rows of A and C, half for those of B as they pass by.
        let rows = (self.budget / 2 / row).clamp(1, m);
        let panel = (self.budget / 2 / (DEPTH * size_of::<f32>() * n)).clamp(1, PANEL);
        for first in (0..m).step_by(rows) {
            let end = m.min(first + rows);
            let part = Shape { m: end - first, ..shape };
            let (a, c) = (a.slice(first * k..end * k)?, c.slice_mut(first * n..end * n)?);
            self.panels.run(part, panel, a, b, c)?;
        }
        Ok(m.div_ceil(rows))
    }
}
// ANCHOR_END: multiply
