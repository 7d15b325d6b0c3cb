//! Reductions: sums, dot products, least and greatest elements.

use rayon::prelude::*;
use thalweg::prelude::*;

#[kernels("../cu/reduce.cu")]
unsafe extern "CUDA" {
    /// The sum of `x[..n]` in `parts` parts, added and given in doubles.
    ///
    /// `x` has at least `n` elements and `sums` at least `parts`, which is most often the number of blocks.
    /// Any grid and block will do. Block `b` leaves its share in `sums[b]`; where there are fewer blocks than
    /// parts, the others become 0, so that `sums[..parts]` always add up to the whole. For one value a chunk,
    /// add them up by one block:
    ///
    /// ```
    /// use thalweg::prelude::*;
    /// use thalweg_kernels::{sum_f32, sum_f64};
    ///
    /// stream_pipeline! {
    ///     pipeline Sums {
    ///         input x: [f32];
    ///         output sums: [f64] per chunk;
    ///         device d_parts: [f64; 264] per chunk;
    ///         device d_sum: [f64] per chunk;
    ///         chunk c = 1 << 20;
    ///         stage load { copy x -> dx; }
    ///         stage add {
    ///             sum_f32<<<264, 256>>>(c.len as u32, 264, &dx, out d_parts);
    ///             sum_f64<<<1, 256>>>(264, 1, &d_parts, out d_sum);
    ///         }
    ///         stage store { copy d_sum -> sums; }
    ///     }
    /// }
    ///
    /// let device = Device::simulated(Simulation::default());
    /// let (x, mut sums) = (vec![0.1; 2_000_000], [0.0; 2]);
    /// Sums::new(&device)?.run(&x, &mut sums)?;
    /// assert!((sums[0] + sums[1] - 2_000_000.0 * f64::from(0.1_f32)).abs() < 1e-8);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// For one value a run, let [`daxpy`](crate::daxpy) add each chunk's value to a `carry`.
    ///
    /// Rounding: an element is the start of a chain of at most `n / threads + 12` additions of doubles, each
    /// of which is off by at most 2^-53 of its result. The chains follow from the launch alone: the same
    /// grid, block and `parts` give the same bits on every device.
    #[host(sum_f32_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(parts as usize <= sums.len())]
    pub safe fn sum_f32(n: u32, parts: u32, x: &[f32], sums: Out<[f64]>);

    /// The sum of `x[..n]` in `parts` parts, of doubles: like [`sum_f32`], it also adds up the parts of that
    /// kernel and of the dot products.
    #[host(sum_f64_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(parts as usize <= sums.len())]
    pub safe fn sum_f64(n: u32, parts: u32, x: &[f64], sums: Out<[f64]>);

    /// The dot product of `x[..n]` and `y[..n]` in `parts` parts, in doubles, where products of floats are
    /// exact.
    ///
    /// Grid, parts, rounding and the way to one value are those of [`sum_f32`].
    #[host(dot_f32_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    #[requires(parts as usize <= sums.len())]
    pub safe fn dot_f32(n: u32, parts: u32, x: &[f32], y: &[f32], sums: Out<[f64]>);

    /// The dot product of `x[..n]` and `y[..n]` in `parts` parts, of doubles, with each product rounded.
    ///
    /// Grid, parts, rounding of the sums and the way to one value are those of [`sum_f32`].
    #[host(dot_f64_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(n as usize <= y.len())]
    #[requires(parts as usize <= sums.len())]
    pub safe fn dot_f64(n: u32, parts: u32, x: &[f64], y: &[f64], sums: Out<[f64]>);

    /// The least of `x[..n]` in `parts` parts, by `minimum` of IEEE 754-2019: NaN if any element is NaN, and
    /// -0.0 is less than 0.0. It is infinity if there are no elements.
    ///
    /// Any grid and block will do. Block `b` leaves its share in `least[b]`; where there are fewer blocks
    /// than parts, the others become infinity. For one value a chunk,
    /// `min_f32<<<264, 256>>>(n, 264, &x, out parts)` and then
    /// `min_f32<<<1, 256>>>(264, 1, &parts, out least)`, as for [`sum_f32`]. The result is the same on every
    /// device and for every grid.
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
    /// min.launch(stream.config(8, 256, 0), 4, 8, &x, &mut parts)?;
    /// min.launch(stream.config(1, 256, 0), 8, 1, &parts, &mut least)?;
    /// assert_eq!(least.to_vec()?, [-1.5]);
    /// # Ok::<(), thalweg::Error>(())
    /// ```
    #[host(min_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(parts as usize <= least.len())]
    pub safe fn min_f32(n: u32, parts: u32, x: &[f32], least: Out<[f32]>);

    /// The least of `x[..n]`, of doubles, like [`min_f32`].
    #[host(min_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(parts as usize <= least.len())]
    pub safe fn min_f64(n: u32, parts: u32, x: &[f64], least: Out<[f64]>);

    /// The greatest of `x[..n]` in `parts` parts, by `maximum` of IEEE 754-2019: NaN if any element is NaN,
    /// and 0.0 is greater than -0.0. It is minus infinity if there are no elements.
    ///
    /// All else is as for [`min_f32`].
    #[host(max_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(parts as usize <= greatest.len())]
    pub safe fn max_f32(n: u32, parts: u32, x: &[f32], greatest: Out<[f32]>);

    /// The greatest of `x[..n]`, of doubles, like [`max_f32`].
    #[host(max_on_host)]
    #[requires(n as usize <= x.len())]
    #[requires(parts as usize <= greatest.len())]
    pub safe fn max_f64(n: u32, parts: u32, x: &[f64], greatest: Out<[f64]>);
}

/// Lanes of a warp.
const WARP: usize = 32;

/// Does what the kernels' `reduce` does, in the same order. `element(i)` gives element `i` of `n`.
fn reduce<T: Copy + Send + Sync>(
    launch: Grid,
    n: u32,
    parts: &mut [T],
    none: T,
    join: impl Fn(T, T) -> T + Sync,
    element: impl Fn(usize) -> T + Sync,
) {
    let n = n as usize;
    let threads: usize = launch.block_dim.iter().map(|&threads| threads as usize).product();
    let blocks =
        launch.grid_dim.iter().fold(1, |blocks: usize, &along| blocks.saturating_mul(along as usize));
    let working = blocks.min(parts.len());
    let (work, rest) = parts.split_at_mut(working);
    work.par_iter_mut().enumerate().for_each(|(block, part)| {
        let mut values = vec![none; threads];
        for start in (block * threads..n).step_by(working * threads) {
            for (value, i) in values.iter_mut().zip(start..n) {
                *value = join(*value, element(i));
            }
        }
        let mut warps: Vec<_> = values.chunks_mut(WARP).map(|lanes| over_lanes(lanes, &join)).collect();
        *part = over_lanes(&mut warps, &join);
    });
    rest.fill(none);
}

/// The tree over a warp's lanes, at least one.
fn over_lanes<T: Copy>(lanes: &mut [T], join: impl Fn(T, T) -> T) -> T {
    for offset in [16, 8, 4, 2, 1] {
        for lane in 0..offset.min(lanes.len().saturating_sub(offset)) {
            lanes[lane] = join(lanes[lane], lanes[lane + offset]);
        }
    }
    lanes[0]
}

fn sum_f32_on_host(launch: Grid, n: u32, parts: u32, x: &[f32], sums: &mut [f64]) {
    reduce(launch, n, &mut sums[..parts as usize], 0.0, |a, b| a + b, |i| f64::from(x[i]));
}

fn sum_f64_on_host(launch: Grid, n: u32, parts: u32, x: &[f64], sums: &mut [f64]) {
    reduce(launch, n, &mut sums[..parts as usize], 0.0, |a, b| a + b, |i| x[i]);
}

fn dot_f32_on_host(launch: Grid, n: u32, parts: u32, x: &[f32], y: &[f32], sums: &mut [f64]) {
    let product = |i| f64::from(x[i]) * f64::from(y[i]);
    reduce(launch, n, &mut sums[..parts as usize], 0.0, |a, b| a + b, product);
}

fn dot_f64_on_host(launch: Grid, n: u32, parts: u32, x: &[f64], y: &[f64], sums: &mut [f64]) {
    reduce(launch, n, &mut sums[..parts as usize], 0.0, |a, b| a + b, |i| x[i] * y[i]);
}

/// The operations of a type that the least and the greatest element need.
trait Float: Copy + PartialOrd + Send + Sync {
    const INFINITY: Self;
    const NEG_INFINITY: Self;
    fn is_nan(self) -> bool;
    fn is_sign_negative(self) -> bool;
}

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Float for $type {
            const INFINITY: Self = <$type>::INFINITY;
            const NEG_INFINITY: Self = <$type>::NEG_INFINITY;

            fn is_nan(self) -> bool {
                <$type>::is_nan(self)
            }

            fn is_sign_negative(self) -> bool {
                <$type>::is_sign_negative(self)
            }
        }
    )*};
}
floats!(f32, f64);

fn min_on_host<T: Float>(launch: Grid, n: u32, parts: u32, x: &[T], least: &mut [T]) {
    let minimum = |a: T, b: T| if a < b || a.is_nan() || (a == b && a.is_sign_negative()) { a } else { b };
    reduce(launch, n, &mut least[..parts as usize], T::INFINITY, minimum, |i| x[i]);
}

fn max_on_host<T: Float>(launch: Grid, n: u32, parts: u32, x: &[T], greatest: &mut [T]) {
    let maximum = |a: T, b: T| if a > b || a.is_nan() || (a == b && !a.is_sign_negative()) { a } else { b };
    reduce(launch, n, &mut greatest[..parts as usize], T::NEG_INFINITY, maximum, |i| x[i]);
}
