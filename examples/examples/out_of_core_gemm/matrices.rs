//! The matrices of a product: their shape, random ones, and a check of the result.

use thalweg::prelude::*;

/// A is `m` by `k`, B is `k` by `n` and C is `m` by `n`; all are stored row by row.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Rows of A and of C.
    pub m: usize,
    /// Columns of B and of C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

impl Shape {
    /// Whether a matrix has no entries. A pipeline refuses items without elements.
    pub fn is_empty(self) -> bool {
        self.m == 0 || self.n == 0 || self.k == 0
    }
}

/// Compares entries of C, here and there, with their definition; the first one that is off, if any.
pub fn check(Shape { m, n, k }: Shape, a: &[f32], b: &[f32], c: &[f32], entries: usize) -> String {
    // A matrix without entries has none that are off.
    let entries = if m * n == 0 { 0 } else { entries };
    for entry in 0..entries {
        let at = (entry * 2_654_435_761 + m * n / 2) % (m * n);
        let (i, j) = (at / n, at % n);
        let products = (0..k).map(|l| f64::from(a[i * k + l]) * f64::from(b[l * n + j]));
        let (sum, size) = products.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
        // Each of the `k` sums rounds once, in any order.
        let bound = size * k as f64 * f64::from(f32::EPSILON);
        if (f64::from(c[at]) - sum).abs() > bound || c[at].is_nan() {
            return format!("row {i}, column {j} is {}, not {sum}", c[at]);
        }
    }
    "all right".to_owned()
}

/// Numbers from -1 to 1, the same ones for the same `seed`.
pub fn random(device: &Device, len: usize, seed: u64) -> thalweg::Result<PinnedBuf<f32>> {
    let mut numbers = PinnedBuf::zeroed(device, len)?;
    for (i, number) in numbers.iter_mut().enumerate() {
        // SplitMix64, Steele et al., 2014.
        let mut x = (seed << 40 | i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        *number = ((x ^ (x >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0;
    }
    Ok(numbers)
}
