//! The matrices in the host's memory, and who is timed on them.

use std::time::Instant;

use serde_json::{Value, json};
use thalweg::prelude::*;

use crate::bare::{self, Bare};
use crate::matrices::{Shape, check, random};
use crate::xt::Xt;

pub const WARM_UP: usize = 1;
pub const RUNS: usize = 7;
/// Entries of each result that are compared with their definition.
const ENTRIES: usize = 200;

/// The matrices in page-locked memory, which all devices read and write.
pub struct Matrices {
    pub shape: Shape,
    pub a: PinnedBuf<f32>,
    pub b: PinnedBuf<f32>,
    c: PinnedBuf<f32>,
}

impl Matrices {
    /// Random A and B of so many rows and columns.
    pub fn new(device: &Device, size: usize) -> thalweg::Result<Self> {
        let (a, b) = (random(device, size * size, 1)?, random(device, size * size, 2)?);
        let c = PinnedBuf::zeroed(device, size * size)?;
        Ok(Self { shape: Shape { m: size, n: size, k: size }, a, b, c })
    }

    /// Seconds that `multiply` takes to make C of A and B. The result is checked.
    pub fn timed<R>(
        &mut self,
        what: &str,
        multiply: impl FnOnce(Shape, &PinnedBuf<f32>, &PinnedBuf<f32>, &mut PinnedBuf<f32>) -> thalweg::Result<R>,
    ) -> thalweg::Result<f64> {
        let Self { shape, a, b, c } = self;
        c.fill(f32::NAN);
        let start = Instant::now();
        multiply(*shape, a, b, c)?;
        let seconds = start.elapsed().as_secs_f64();
        assert_eq!(check(*shape, a, b, c, ENTRIES), "all right", "{what}");
        Ok(seconds)
    }

    /// Seconds for the product alone and for the copies alone, which bring what the product has made.
    pub fn limits(&mut self, devices: &[Bare]) -> thalweg::Result<[f64; 2]> {
        let product = bare::product(devices);
        let copies = self.timed("the product alone", |_, a, b, c| {
            bare::copies(devices, a, b, c);
            Ok(())
        })?;
        Ok([product, copies])
    }

    /// Seconds for cuBLAS-Xt with blocks of this side.
    pub fn xt(&mut self, xt: &Xt<'_>, block: usize) -> thalweg::Result<f64> {
        xt.set_block(block);
        self.timed("cuBLAS-Xt", |Shape { n, .. }, a, b, c| {
            xt.product(n, a, b, c);
            Ok(())
        })
    }
}

pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What was measured, as JSON.
pub fn row(name: &str, seconds: &[f64], limit: f64) -> Value {
    let (median, times) = (median(seconds), median(seconds) / limit);
    json!({ "name": name, "seconds": seconds, "median_seconds": median, "times_the_limit": times })
}
