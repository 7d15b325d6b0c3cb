//! cuFFT: discrete Fourier transforms.
//!
//! [`forward`] and [`inverse`] transform every signal of a buffer, between real or complex numbers and a
//! complex spectrum. An [`Fft`] gives a signal's one to three dimensions, and says how many signals stand one
//! after another.
//!
//! ```
//! use thalweg_libraries::cufft::{self, Complex, Fft};
//! use thalweg::prelude::*;
//!
//! stream_pipeline! {
//!     /// The spectra of signals of 8 samples.
//!     pipeline Spectra {
//!         input signal: [f32; 8];
//!         output spectrum: [Complex<f32>; 5];
//!         device ds: [Complex<f32>; 5];
//!         chunk c = auto;
//!         stage load { copy signal -> dx; }
//!         stage transform { call cufft::forward(Fft::r2c(8).batch(c.len), &dx, out ds); }
//!         stage store { copy ds -> spectrum; }
//!     }
//! }
//!
//! let signal = [1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0, 0.0];
//! let mut spectrum = [Complex::default(); 5];
//! Spectra::new(&Device::simulated(Simulation::default()))?.run(&signal, &mut spectrum)?;
//! assert_eq!(spectrum.map(|s| s.norm().round()), [0.0, 0.0, 4.0, 0.0, 0.0]);
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! As in cuFFT, neither device divides by the number of elements: a transform there and back multiplies a
//! signal by it.
//!
//! A plan is made when a shape first comes to a ring slot's stream, and kept with its tables; all plans of
//! one slot and stream share one work area. Making one may wait for the GPU, so a pipeline's first chunks
//! take longer. The 16 plans that were used last are kept: a pipeline with more shapes, or with a batch that
//! differs from chunk to chunk, makes plans again and again, and waits for its stream before it frees others
//! for them.

mod host;
mod plan;
mod shape;
mod sys;

use std::fmt;
use std::marker::PhantomData;

pub use num_complex::Complex;
use rustfft::FftDirection;
pub use shape::Sizes;
use thalweg::kernel::{DeviceSlice, DeviceSliceMut, DeviceSliceOut};
use thalweg::routine::Enqueue;
use thalweg::{Pod, Result};

use self::sys::cufftType as Transform;
use crate::Calls;
use plan::{Input, Work, transform};
use shape::Shape;

/// The signals of a transform: they have one, two or three dimensions and the same size, and stand one after
/// another.
///
/// The last dimension's elements lie side by side, as in C. `K` tells whether signals are complex or real.
///
/// | | elements of the signals | elements of the spectra |
/// | --- | --- | --- |
/// | `Fft::c2c(n).batch(k)` | `k * n` of `Complex<R>` | `k * n` of `Complex<R>` |
/// | `Fft::r2c(n).batch(k)` | `k * n` of `R` | `k * (n / 2 + 1)` of `Complex<R>` |
/// | `Fft::r2c([rows, columns]).batch(k)` | `k * rows * columns` of `R` | `k * rows * (columns / 2 + 1)` of `Complex<R>` |
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fft<K> {
    shape: Shape,
    kind: PhantomData<K>,
}

/// Transforms between complex signals and spectra of the same size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum C2c {}

/// Transforms between real signals and the half of their spectra that is not the conjugate of the other: if
/// the signal's last dimension is `n`, the spectrum's is `n / 2 + 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum R2c {}

impl Fft<C2c> {
    /// One transform between a complex signal of these sizes and its spectrum.
    pub fn c2c(sizes: impl Sizes) -> Self {
        Self { shape: sizes.shape(), kind: PhantomData }
    }
}

impl Fft<R2c> {
    /// One transform between a real signal of these sizes and its spectrum.
    pub fn r2c(sizes: impl Sizes) -> Self {
        Self { shape: sizes.shape(), kind: PhantomData }
    }
}

impl<K> Fft<K> {
    /// Sets the number of signals, which stand one after another; the default is one. In a pipeline whose
    /// items are signals it is `c.len`.
    pub fn batch(mut self, batch: usize) -> Self {
        self.shape.batch = batch;
        self
    }
}

impl<K> fmt::Debug for Fft<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fft").field(&self.shape).finish()
    }
}

/// An element of the signals of an [`Fft<K>`], whose spectra have elements [`Complex<R>`]: `f32` or `f64` for
/// [`R2c`], [`Complex`] of them for [`C2c`].
#[diagnostic::on_unimplemented(
    message = "an `Fft<{K}>` has no signals of `{Self}`",
    label = "expected `f32` or `f64` for `r2c`, `Complex` of them for `c2c`"
)]
pub trait Sample<K, R: Real>: Pod + sealed::Sample {
    /// The types of cuFFT's transforms, there and back.
    #[doc(hidden)]
    const TRANSFORMS: [Transform; 2];

    #[doc(hidden)]
    fn spectrum(shape: Shape) -> Shape;
    #[doc(hidden)]
    fn forward(shape: &Shape, signal: &[Self], spectrum: &mut [Complex<R>]);
    #[doc(hidden)]
    fn inverse(shape: &Shape, spectrum: &[Complex<R>], signal: &mut [Self]);
}

/// The real numbers that cuFFT transforms: `f32` or `f64`.
#[diagnostic::on_unimplemented(
    message = "cuFFT has no transforms of `{Self}`",
    label = "expected `f32` or `f64`, or `Complex` of them"
)]
pub trait Real: Pod + sealed::Real {
    /// The type of cuFFT's transform of complex numbers.
    #[doc(hidden)]
    const COMPLEX: Transform;
}

macro_rules! samples {
    ($($real:ty, $complex:ident, $forward:ident, $inverse:ident;)*) => {$(
        impl sealed::Real for $real {}
        impl sealed::Sample for $real {}
        impl sealed::Sample for Complex<$real> {}

        impl Real for $real {
            const COMPLEX: Transform = Transform::$complex;
        }

        impl Sample<R2c, $real> for $real {
            const TRANSFORMS: [Transform; 2] = [Transform::$forward, Transform::$inverse];

            fn spectrum(shape: Shape) -> Shape {
                shape.half()
            }

            fn forward(shape: &Shape, signal: &[Self], spectrum: &mut [Complex<$real>]) {
                host::real_to_complex(shape.sizes(), signal, spectrum);
            }

            fn inverse(shape: &Shape, spectrum: &[Complex<$real>], signal: &mut [Self]) {
                host::complex_to_real(shape.sizes(), spectrum, signal);
            }
        }

        impl Sample<C2c, $real> for Complex<$real> {
            const TRANSFORMS: [Transform; 2] = [Transform::$complex; 2];

            fn spectrum(shape: Shape) -> Shape {
                shape
            }

            fn forward(shape: &Shape, signal: &[Self], spectrum: &mut [Self]) {
                spectrum.copy_from_slice(signal);
                host::complex(shape.sizes(), FftDirection::Forward, spectrum);
            }

            fn inverse(shape: &Shape, spectrum: &[Self], signal: &mut [Self]) {
                signal.copy_from_slice(spectrum);
                host::complex(shape.sizes(), FftDirection::Inverse, signal);
            }
        }
    )*};
}
samples! {
    f32, CUFFT_C2C, CUFFT_R2C, CUFFT_C2R;
    f64, CUFFT_Z2Z, CUFFT_D2Z, CUFFT_Z2D;
}

/// Refuses signals and spectra that are not as long as their shapes say.
fn check(
    queue: &Enqueue<'_>,
    routine: &'static str,
    [signals, spectra]: [Shape; 2],
    [(signal_len, signal), (spectrum_len, spectrum)]: [(usize, u64); 2],
) -> Result<()> {
    queue.naming(&[("signal", signal)], signals.check(routine, "signal", signal_len))?;
    queue.naming(&[("spectrum", spectrum)], spectra.check(routine, "spectrum", spectrum_len))
}

/// Transforms signals to their spectra: `spectrum[k] = sum of signal[j] * exp(-2 pi i j k / n)` in each
/// dimension.
///
/// # Errors
/// A slice is not as long as `fft` says ([`Error::Dimensions`]), or the two overlap
/// ([`ErrorKind::Contract`]). On a GPU also: there is no cuFFT ([`Error::NoLibrary`]) or one that is too old
/// ([`Error::LibraryTooOld`]), it fails ([`Error::Library`]), or device memory does not suffice for its work
/// area ([`ErrorKind::OutOfMemory`]).
///
/// [`Error::Dimensions`]: crate::Error::Dimensions
/// [`Error::NoLibrary`]: crate::Error::NoLibrary
/// [`Error::LibraryTooOld`]: crate::Error::LibraryTooOld
/// [`Error::Library`]: crate::Error::Library
/// [`ErrorKind::Contract`]: thalweg::ErrorKind::Contract
/// [`ErrorKind::OutOfMemory`]: thalweg::ErrorKind::OutOfMemory
pub fn forward<K, S: Sample<K, R>, R: Real>(
    queue: &Enqueue<'_>,
    fft: Fft<K>,
    signal: DeviceSlice<'_, S>,
    spectrum: DeviceSliceOut<'_, Complex<R>>,
) -> Result<()> {
    let shape = fft.shape;
    let arguments = [(signal.len(), signal.address()), (spectrum.len(), spectrum.address())];
    check(queue, "forward", [shape, S::spectrum(shape)], arguments)?;
    let Some(stream) = queue.cuda_stream() else {
        let body = move |(signal, spectrum): (&[S], &mut [_])| S::forward(&shape, signal, spectrum);
        return queue.simulate((signal, spectrum), body);
    };
    let [kind, _] = S::TRANSFORMS;
    let work = Work { shape, kind, direction: FftDirection::Forward, input: Input::Preserved };
    transform(queue, stream, work, signal.address(), spectrum.address(), (signal, spectrum))
}

/// Transforms spectra to signals: `signal[j] = sum of spectrum[k] * exp(+2 pi i j k / n)` in each dimension,
/// without a division.
///
/// For real signals, the spectrum must be that of a real signal: an element that is its own conjugate by
/// symmetry, such as the first, has no imaginary part. The result for another spectrum is unspecified. cuFFT
/// overwrites the spectrum when it makes real signals, so it gets a copy; [`inverse_overwriting`] avoids that
/// copy.
///
/// ```
/// use thalweg_libraries::cufft::{self, Complex, Fft};
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     /// Signals of 4 samples, there and back.
///     pipeline ThereAndBack {
///         input x: [f32; 4];
///         output y: [f32; 4];
///         device spectrum: [Complex<f32>; 3];
///         device dy: [f32; 4];
///         chunk c = auto;
///         stage load { copy x -> dx; }
///         stage transform {
///             call cufft::forward(Fft::r2c(4).batch(c.len), &dx, out spectrum);
///             call cufft::inverse(Fft::r2c(4).batch(c.len), &spectrum, out dy);
///         }
///         stage store { copy dy -> y; }
///     }
/// }
///
/// let mut y = [0.0; 4];
/// ThereAndBack::new(&Device::simulated(Simulation::h200()))?.run(&[1.0, 2.0, 3.0, 4.0], &mut y)?;
/// // 4 times as large as it was.
/// assert!(y.iter().zip([4.0, 8.0, 12.0, 16.0]).all(|(y, x)| (y - x).abs() < 1e-5), "{y:?}");
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// Those of [`forward`].
pub fn inverse<K, S: Sample<K, R>, R: Real>(
    queue: &Enqueue<'_>,
    fft: Fft<K>,
    spectrum: DeviceSlice<'_, Complex<R>>,
    signal: DeviceSliceOut<'_, S>,
) -> Result<()> {
    let shape = fft.shape;
    let arguments = [(signal.len(), signal.address()), (spectrum.len(), spectrum.address())];
    check(queue, "inverse", [shape, S::spectrum(shape)], arguments)?;
    let Some(stream) = queue.cuda_stream() else {
        let body = move |(spectrum, signal): (&[_], &mut [S])| S::inverse(&shape, spectrum, signal);
        return queue.simulate((spectrum, signal), body);
    };
    let [_, kind] = S::TRANSFORMS;
    let work = Work { shape, kind, direction: FftDirection::Inverse, input: Input::Preserved };
    transform(queue, stream, work, spectrum.address(), signal.address(), (spectrum, signal))
}

/// Like [`inverse`], but leaves nothing of use in `spectrum`.
///
/// # Errors
/// Those of [`forward`].
pub fn inverse_overwriting<K, S: Sample<K, R>, R: Real>(
    queue: &Enqueue<'_>,
    fft: Fft<K>,
    spectrum: DeviceSliceMut<'_, Complex<R>>,
    signal: DeviceSliceOut<'_, S>,
) -> Result<()> {
    let shape = fft.shape;
    let arguments = [(signal.len(), signal.address()), (spectrum.len(), spectrum.address())];
    check(queue, "inverse_overwriting", [shape, S::spectrum(shape)], arguments)?;
    let Some(stream) = queue.cuda_stream() else {
        // The spectrum is spoilt here too, so that no program comes to rely on it.
        let body = move |(spectrum, signal): (&mut [Complex<R>], &mut [S])| {
            S::inverse(&shape, spectrum, signal);
            spectrum.fill(<Complex<R> as thalweg::Zeroable>::zeroed());
        };
        return queue.simulate((spectrum, signal), body);
    };
    let [_, kind] = S::TRANSFORMS;
    let work = Work { shape, kind, direction: FftDirection::Inverse, input: Input::Overwritten };
    transform(queue, stream, work, spectrum.address(), signal.address(), (spectrum, signal))
}

/// [`forward`] for complex signals, in place.
///
/// # Errors
/// Those of [`forward`].
pub fn forward_in_place<T: Real>(
    queue: &Enqueue<'_>,
    fft: Fft<C2c>,
    data: DeviceSliceMut<'_, Complex<T>>,
) -> Result<()> {
    in_place(queue, "forward_in_place", fft, FftDirection::Forward, data)
}

/// [`inverse`] for complex spectra, in place.
///
/// # Errors
/// Those of [`forward`].
pub fn inverse_in_place<T: Real>(
    queue: &Enqueue<'_>,
    fft: Fft<C2c>,
    data: DeviceSliceMut<'_, Complex<T>>,
) -> Result<()> {
    in_place(queue, "inverse_in_place", fft, FftDirection::Inverse, data)
}

fn in_place<T: Real>(
    queue: &Enqueue<'_>,
    routine: &'static str,
    fft: Fft<C2c>,
    direction: FftDirection,
    data: DeviceSliceMut<'_, Complex<T>>,
) -> Result<()> {
    let shape = fft.shape;
    queue.naming(&[("data", data.address())], shape.check(routine, "data", data.len()))?;
    let Some(stream) = queue.cuda_stream() else {
        let body = move |(data,): (&mut [_],)| host::complex(shape.sizes(), direction, data);
        return queue.simulate((data,), body);
    };
    let work = Work { shape, kind: T::COMPLEX, direction, input: Input::Overwritten };
    transform(queue, stream, work, data.address(), data.address(), (data,))
}

mod sealed {
    pub trait Sample {}
    pub trait Real: rustfft::FftNum {}
}
