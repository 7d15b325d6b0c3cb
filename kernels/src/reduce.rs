//! Reductions: sums, dot products, least and greatest elements.
//!
//! The order of the operations follows from the launch alone. Each block has a share of elements that lie together,
//! in which thread `t` of its `T` takes the elements `t`, `t + T`, `t + 2 T`, …; then a tree joins the lanes of each
//! warp, and another the warps. There are no atomics. A processor's core, which runs whole blocks, reads its memory
//! in order so.

use thalweg::prelude::*;

use crate::map::of_type;

/// The sum of `x` in parts, added and given in doubles: block `b` leaves its share in `sums[b]`.
///
/// A launch has as many blocks as `sums` has elements, for instance sixteen for each of the device's
/// [multiprocessors](Device::multiprocessors). Any number of threads will do. For one value a chunk, add the parts
/// up by one block:
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_kernels::{sum_f32, sum_f64};
///
/// stream_pipeline! {
///     pipeline Sums {
///         param blocks: u32;
///         input x: [f32];
///         output sums: [f64] per chunk;
///         device d_parts: [f64; blocks as usize] per chunk;
///         device d_sum: [f64] per chunk;
///         chunk c = 1 << 20;
///         stage load { copy x -> dx; }
///         stage add {
///             sum_f32<<<blocks, 256>>>(&dx, out d_parts);
///             sum_f64<<<1, 256>>>(&d_parts, out d_sum);
///         }
///         stage store { copy d_sum -> sums; }
///     }
/// }
///
/// let device = Device::simulated(Simulation::default());
/// let (x, mut sums) = (vec![0.1; 2_000_000], [0.0; 2]);
/// Sums::new(&device)?.run(16 * device.multiprocessors(), &x, &mut sums)?;
/// assert!((sums[0] + sums[1] - 2_000_000.0 * f64::from(0.1_f32)).abs() < 1e-8);
/// # Ok::<(), Error>(())
/// ```
///
/// For one value a run, let [`daxpy`](struct@crate::daxpy) add each chunk's value to a `carry`.
///
/// Rounding: an element is the start of a chain of at most `x.len() / threads + 12` additions of doubles, each of
/// which is off by at most 2^-53 of its result. The chains follow from the launch alone: the same grid and block
/// give the same bits on every device.
#[kernel(T in [f32, f64])]
pub fn sum(block: Block, x: &[T], sums: &mut Out<[f64]>) {
    let (first, end) = share(block.index().get(), block.blocks(), block.threads(), x.len());
    let x = &x[first..end];
    let sum = block.reduce(
        |t| {
            let mut sum = 0.0;
            for i in t.of_block(x.len()) {
                sum += x[i] as f64;
            }
            sum
        },
        |a, b| a + b,
    );
    sums.put(block.index(), sum);
}

/// The dot product of `x` and `y` in parts, in doubles: products of floats are exact, and those of doubles
/// rounded.
///
/// Launch, rounding of the sums and the way to one value are those of [`sum`].
#[kernel(T in [f32, f64])]
#[requires(x.len() == y.len())]
pub fn dot(block: Block, x: &[T], y: &[T], sums: &mut Out<[f64]>) {
    let (first, end) = share(block.index().get(), block.blocks(), block.threads(), x.len());
    let (x, y) = (&x[first..end], &y[first..end]);
    let sum = block.reduce(
        |t| {
            let mut sum = 0.0;
            for i in t.of_block(x.len()) {
                sum += x[i] as f64 * y[i] as f64;
            }
            sum
        },
        |a, b| a + b,
    );
    sums.put(block.index(), sum);
}

/// The least element of `x` in parts, by `minimum` of IEEE 754-2019: NaN if any element is NaN, and -0.0 is less
/// than 0.0. It is infinity if there are no elements.
///
/// Block `b` leaves its share in `least[b]`: a launch has as many blocks as `least` has elements. For one value a
/// chunk, `min_f32<<<blocks, 256>>>(&x, out parts)` and then `min_f32<<<1, 256>>>(&parts, out least)`, as for
/// [`sum`]. The result is the same on every device and for every grid.
///
/// ```
/// use thalweg::sim::Simulation;
/// use thalweg::streams::Stream;
/// use thalweg::{Device, DeviceBuf};
/// use thalweg_kernels::min_f32;
///
/// let device = Device::simulated(Simulation::h200());
/// let (stream, min) = (Stream::new(&device)?, min_f32::load(&device)?);
/// let x = DeviceBuf::from_slice(&device, &[3.0_f32, -1.5, 4.0, 2.0])?;
/// let (mut parts, mut least) = (DeviceBuf::zeroed(&device, 8)?, DeviceBuf::zeroed(&device, 1)?);
/// min.launch(stream.config(8, 256, 0), &x, &mut parts)?;
/// min.launch(stream.config(1, 256, 0), &parts, &mut least)?;
/// assert_eq!(least.to_vec()?, [-1.5]);
/// # Ok::<(), thalweg::Error>(())
/// ```
#[kernel(T in [f32, f64])]
#[allow(clippy::redundant_closure, reason = "kernels combine by closures")]
pub fn min(block: Block, x: &[T], least: &mut Out<[T]>) {
    let lesser = |a: T, b: T| if a < b || a.is_nan() || (a == b && a.is_sign_negative()) { a } else { b };
    let (first, end) = share(block.index().get(), block.blocks(), block.threads(), x.len());
    let x = &x[first..end];
    let found = block.reduce(
        |t| {
            let mut found = T::INFINITY;
            for i in t.of_block(x.len()) {
                found = lesser(found, x[i]);
            }
            found
        },
        |a, b| lesser(a, b),
    );
    least.put(block.index(), found);
}

/// The greatest element of `x` in parts, by `maximum` of IEEE 754-2019: NaN if any element is NaN, and 0.0 is
/// greater than -0.0. It is minus infinity if there are no elements.
///
/// All else is as for [`min`].
#[kernel(T in [f32, f64])]
#[allow(clippy::redundant_closure, reason = "kernels combine by closures")]
pub fn max(block: Block, x: &[T], greatest: &mut Out<[T]>) {
    let greater = |a: T, b: T| if a > b || a.is_nan() || (a == b && !a.is_sign_negative()) { a } else { b };
    let (first, end) = share(block.index().get(), block.blocks(), block.threads(), x.len());
    let x = &x[first..end];
    let found = block.reduce(
        |t| {
            let mut found = T::NEG_INFINITY;
            for i in t.of_block(x.len()) {
                found = greater(found, x[i]);
            }
            found
        },
        |a, b| greater(a, b),
    );
    greatest.put(block.index(), found);
}

/// Where the share of block `b` of `blocks` begins and ends: so many whole rounds of its threads that all blocks
/// together have `n` elements.
#[device]
fn share(b: usize, blocks: usize, threads: usize, n: usize) -> (usize, usize) {
    let share = n.div_ceil(blocks * threads) * threads;
    let first = (b * share).min(n);
    (first, (first + share).min(n))
}

of_type! {
    sum_f32 = sum<f32>, "floats";
    sum_f64 = sum<f64>, "doubles, which also adds up the parts of that and of the dot products";
    dot_f32 = dot<f32>, "floats";
    dot_f64 = dot<f64>, "doubles";
    min_f32 = min<f32>, "floats";
    min_f64 = min<f64>, "doubles";
    max_f32 = max<f32>, "floats";
    max_f64 = max<f64>, "doubles";
}
