//! `y += a * x`, and what host bodies of the other kernels share.

use thalweg::prelude::*;

/// Elements that one CPU thread takes at a time.
pub(crate) const PIECE: usize = 1 << 14;

/// `y[i] += a * x[i]`, with the product and the sum each rounded.
///
/// Needs one thread an element: `saxpy<<<blocks(n, 256), 256>>>(a, &x, &mut y)`. The bits are the same on every
/// device.
#[kernel]
#[requires(y.len() <= x.len())]
pub fn saxpy(i: Index, a: f32, x: &[f32], y: &mut Own<[f32]>) {
    let Some(y) = y.get_mut(i) else { return };
    *y += a * x[i];
}
