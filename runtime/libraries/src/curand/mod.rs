//! cuRAND: random numbers, the same ones in every run.
//!
//! [`bits`], [`uniform`] and [`normal`] fill a buffer from a sequence of numbers that a seed stands for,
//! beginning at a position in it ([`Philox`]). If the position is where the chunk begins, the result is one
//! sequence over all chunks: it does not depend on the chunk's size, the ring's depth, the stream, or the
//! order in which the chunks are computed.
//!
//! ```
//! use thalweg_libraries::curand::{self, Philox};
//! use thalweg::prelude::*;
//!
//! stream_pipeline! {
//!     /// Uniform numbers in (0, 1].
//!     pipeline Numbers {
//!         param seed: u64;
//!         output x: [f32];
//!         device dx: [f32];
//!         chunk c = auto;
//!         stage make { call curand::uniform(Philox::new(seed).at(c.start), out dx); }
//!         stage store { copy dx -> x; }
//!     }
//! }
//!
//! let device = Device::simulated(Simulation::default());
//! let (mut all, mut cut) = ([0.0; 1000], [0.0; 1000]);
//! Numbers::new(&device)?.run(7, &mut all)?;
//! Numbers::options(&device).chunk(13).build()?.run(7, &mut cut)?;
//! assert_eq!(all, cut);
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! The generator is Philox4x32-10 (`CURAND_RNG_PSEUDO_PHILOX4_32_10`) in cuRAND's ordering
//! `CURAND_ORDERING_PSEUDO_LEGACY`, which does not change from one release to another. The simulated device
//! computes the same sequence: `bits` and `uniform` give the same bits as cuRAND, `normal` the same numbers
//! up to the rounding of the sine, cosine and logarithm, which a GPU takes from fast approximations for
//! `f32`.

mod generator;
mod host;
mod sys;

use thalweg::kernel::DeviceSliceOut;
use thalweg::routine::Enqueue;
use thalweg::{Pod, Result};

use crate::Error;
use crate::error::counted;
use generator::{Kind, on_cuda};

/// The bound that the positions of a sequence must not exceed.
const POSITIONS: u64 = 1 << 62;

/// A sequence of random numbers, and a position in it.
///
/// Each type and distribution is a sequence of its own, made from the same bits: one element is one position,
/// whatever its size. So two buffers that are to be independent need different seeds, or positions that are
/// apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Philox {
    seed: u64,
    position: u64,
}

impl Philox {
    /// The beginning of the sequence of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed, position: 0 }
    }

    /// The element `position` of the sequence, counted from its beginning: `c.start` for a buffer with one
    /// element an item, `c.start * k` with `k`. At most 2^62.
    pub const fn at(self, position: usize) -> Self {
        Self { position: position as u64, ..self }
    }

    fn check(self, routine: &'static str, len: usize) -> Result<()> {
        match self.position.checked_add(len as u64) {
            Some(end) if end <= POSITIONS => Ok(()),
            _ => {
                let value = usize::try_from(self.position).unwrap_or(usize::MAX);
                let allowed = format!("at most {POSITIONS}, less the {}", counted(len, "element"));
                Err(Error::Dimension { routine, dimension: "the position", value, allowed }.into())
            }
        }
    }
}

/// The elements that cuRAND has distributions for: `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "cuRAND has no distributions of `{Self}`",
    label = "expected elements `f32` or `f64`",
    note = "`bits` fills a buffer of `u32` with random bits"
)]
pub trait Real: Pod + sealed::Real {}

impl Real for f32 {}
impl Real for f64 {}

/// Fills `out` with random bits: `curandGenerate`.
///
/// # Errors
/// The position of the last element is beyond 2^62 ([`Error::Dimension`]). On a GPU also: there is no cuRAND
/// ([`Error::NoLibrary`]) or one that is too old ([`Error::LibraryTooOld`]), it fails, or device memory does
/// not suffice.
pub fn bits(queue: &Enqueue<'_>, from: Philox, out: DeviceSliceOut<'_, u32>) -> Result<()> {
    from.check("bits", out.len())?;
    let Some(stream) = queue.cuda_stream() else {
        let Philox { seed, position } = from;
        return queue.simulate((out,), move |(out,)| host::bits(seed, position, out));
    };
    // SAFETY: `stream` is the queue's. `on_cuda` passes memory of `len` elements from `at` on, which is the
    // run's or is kept with the generator.
    unsafe { on_cuda(queue, stream, from, out, Kind::Bits, |generator, at, len| generator.bits(at, len)) }
}

/// Fills `out` with numbers that are evenly distributed in (0, 1]: `curandGenerateUniform`,
/// `curandGenerateUniformDouble`.
///
/// # Errors
/// Those of [`bits`].
pub fn uniform<T: Real>(queue: &Enqueue<'_>, from: Philox, out: DeviceSliceOut<'_, T>) -> Result<()> {
    from.check("uniform", out.len())?;
    let Some(stream) = queue.cuda_stream() else {
        let Philox { seed, position } = from;
        return queue.simulate((out,), move |(out,)| host::uniform(seed, position, out));
    };
    // SAFETY: `stream` is the queue's. `on_cuda` passes memory of `len` elements from `at` on, which is the
    // run's or is kept with the generator.
    unsafe {
        on_cuda(queue, stream, from, out, T::UNIFORM, |generator, at, len| {
            T::generate_uniform(generator, at, len)
        })
    }
}

/// Fills `out` with normally distributed numbers of this mean and standard deviation: `curandGenerateNormal`,
/// `curandGenerateNormalDouble`.
///
/// cuRAND makes them in pairs. A chunk that begins or ends within a pair, because its length or the position
/// is odd, is made in memory that the pipeline keeps, and copied.
///
/// ```
/// use thalweg_libraries::curand::{self, Philox};
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     /// Points of 3 normal coordinates.
///     pipeline Points {
///         param seed: u64;
///         output x: [f64; 3];
///         device dx: [f64; 3];
///         chunk c = 1000;
///         stage make { call curand::normal(Philox::new(seed).at(3 * c.start), 10.0, 2.0, out dx); }
///         stage store { copy dx -> x; }
///     }
/// }
///
/// let mut x = vec![0.0; 3 * 10_000];
/// Points::new(&Device::simulated(Simulation::h200()))?.run(7, &mut x)?;
/// let mean = x.iter().sum::<f64>() / x.len() as f64;
/// let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
/// assert!((mean - 10.0).abs() < 0.1 && (variance - 4.0).abs() < 0.2, "{mean}, {variance}");
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// Those of [`bits`].
pub fn normal<T: Real>(
    queue: &Enqueue<'_>,
    from: Philox,
    mean: T,
    deviation: T,
    out: DeviceSliceOut<'_, T>,
) -> Result<()> {
    from.check("normal", out.len())?;
    let Some(stream) = queue.cuda_stream() else {
        let Philox { seed, position } = from;
        return queue.simulate((out,), move |(out,)| host::normal(seed, position, mean, deviation, out));
    };
    // SAFETY: `stream` is the queue's. `on_cuda` passes memory of `len` elements from `at` on, which is the
    // run's or is kept with the generator.
    unsafe {
        on_cuda(queue, stream, from, out, T::NORMAL, |generator, at, len| {
            T::generate_normal(generator, at, len, mean, deviation)
        })
    }
}

mod sealed {
    use super::generator::{Generator, Kind};
    use super::host;
    use thalweg::Result;

    pub trait Real: host::Real {
        const UNIFORM: Kind;
        const NORMAL: Kind;

        /// # Safety
        /// `len` elements from `at` on are device memory that stays until the generator's stream has got past
        /// this.
        unsafe fn generate_uniform(generator: &Generator, at: u64, len: usize) -> Result<()>;

        /// # Safety
        /// The same as for `generate_uniform`.
        unsafe fn generate_normal(
            generator: &Generator,
            at: u64,
            len: usize,
            mean: Self,
            deviation: Self,
        ) -> Result<()>;
    }
}
