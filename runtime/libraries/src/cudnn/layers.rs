//! Layers that work element by element or on classes: [`activation`], [`bias`] and [`softmax`].

use thalweg::kernel::{DeviceSlice, DeviceSliceMut};
use thalweg::routine::Enqueue;
use thalweg::{Error, Result};

use super::handle::Handle;
use super::{ELEMENTS, at_most, check, host};
use crate::Calls;

/// The function that [`activation`] applies to each element `x`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, 0), ceiling)`.
    ClippedRelu {
        /// At least 0.
        ceiling: f32,
    },
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// `tanh(x)`.
    Tanh,
    /// `x`, but `alpha * (exp(x) - 1)` below 0.
    Elu {
        /// The negative of the limit at minus infinity.
        alpha: f32,
    },
}

/// The shape of what [`softmax`] makes probabilities of: how many elements there are, and which of them add
/// up to 1.
///
/// ```
/// use thalweg_libraries::cudnn::{self, Softmax};
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     /// The probabilities of 4 classes, of each item's scores.
///     pipeline Classify {
///         inout score: [f32; 4];
///         chunk c = auto;
///         stage load { copy score -> ds; }
///         stage classify { call cudnn::softmax(Softmax::rows(c.len, 4), &mut ds); }
///         stage store { copy ds -> score; }
///     }
/// }
///
/// let never = f32::NEG_INFINITY;
/// let mut scores = [[0.0, 0.0, 0.0, 0.0], [100.0, never, never, 100.0]];
/// Classify::new(&Device::simulated(Simulation::h200()))?.run(scores.as_flattened_mut())?;
/// assert_eq!(scores, [[0.25, 0.25, 0.25, 0.25], [0.5, 0.0, 0.0, 0.5]]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Softmax {
    /// The groups, the classes of each, and the elements from one class to the next.
    sizes: [usize; 3],
    log: bool,
}

impl Softmax {
    /// Each row of `[rows, classes]` adds up to 1: `CUDNN_SOFTMAX_MODE_INSTANCE`.
    pub const fn rows(rows: usize, classes: usize) -> Self {
        Self { sizes: [rows, classes, 1], log: false }
    }

    /// The channels at each place of each image of `[images, channels, height, width]` add up to 1:
    /// `CUDNN_SOFTMAX_MODE_CHANNEL`. An image has `places = height * width`.
    pub const fn channels(images: usize, channels: usize, places: usize) -> Self {
        Self { sizes: [images, channels, places], log: false }
    }

    /// Computes the logarithms of the probabilities instead.
    pub const fn log(self) -> Self {
        Self { log: true, ..self }
    }
}

/// Applies `activation` to each element of `y`: `cudnnActivationForward`.
///
/// # Errors
/// The ceiling is not at least 0 ([`ErrorKind::Library`](thalweg::ErrorKind::Library)). On a GPU also those
/// that [`convolution`](super::convolution()) has on a GPU.
pub fn activation(queue: &Enqueue<'_>, activation: Activation, y: DeviceSliceMut<'_, f32>) -> Result<()> {
    if let Activation::ClippedRelu { ceiling } = activation
        && (ceiling < 0.0 || ceiling.is_nan())
    {
        let reason = format!("the ceiling is {ceiling}, but it must be at least 0");
        return Err(Error::routine("activation", reason));
    }
    let Some(stream) = queue.cuda_stream() else {
        return queue.simulate((y,), move |(y,)| host::activation(activation, y));
    };
    let (at, len) = (y.address(), y.len());
    queue.admit(&(y,))?;
    if len == 0 {
        return Ok(());
    }
    let mut handle = queue.state(|| Handle::new(stream))?;
    // The elements are several tensors if they are too many for one.
    const MOST: usize = 1 << 28;
    for start in (0..len).step_by(MOST) {
        let part = MOST.min(len - start);
        // SAFETY: these elements, at least one, are in `y`, which `admit` has found to be the run's. The run
        // keeps it until the stream has got past this.
        queue.library(|| unsafe {
            handle.activation(activation, at + (start * size_of::<f32>()) as u64, part)
        })?;
    }
    Ok(())
}

/// Adds to each channel of `y`, `[images, channels, height, width]`, its element of `bias`: `cudnnAddTensor`.
/// `places` is `height * width`.
///
/// # Errors
/// `y` is not a whole number of images with `places` elements for each element of `bias`
/// ([`Error::Dimensions`](crate::Error::Dimensions)), has 2^31 elements or more
/// ([`Error::Dimension`](crate::Error::Dimension)), or overlaps `bias`
/// ([`ErrorKind::Contract`](thalweg::ErrorKind::Contract)). On a GPU also those that
/// [`convolution`](super::convolution()) has on a GPU.
pub fn bias(
    queue: &Enqueue<'_>,
    places: usize,
    bias: DeviceSlice<'_, f32>,
    y: DeviceSliceMut<'_, f32>,
) -> Result<()> {
    let channels = bias.len();
    let images = y.len().checked_div(channels.saturating_mul(places)).unwrap_or(0);
    let arguments = [("y", y.address())];
    queue.naming(&arguments, check("bias", "y", &[images, channels, places], y.len()))?;
    let Some(stream) = queue.cuda_stream() else {
        return queue.simulate((bias, y), move |(bias, y)| host::bias(places, bias, y));
    };
    let [bias_at, y_at] = [bias.address(), y.address()];
    let empty = y.is_empty();
    queue.admit(&(bias, y))?;
    if empty {
        return Ok(());
    }
    let mut handle = queue.state(|| Handle::new(stream))?;
    // SAFETY: `admit` has found the slices to be the run's, which keeps them until the stream has got past
    // this. `check` has found `y` as long as the sizes say, none of which is zero, since `y` is not empty.
    queue.library(|| unsafe { handle.bias([images, channels, places], bias_at, y_at) })
}

/// Makes probabilities of `y`: `exp(y)` divided by the sum over the classes, computed from the differences to
/// the largest, so that nothing overflows (`CUDNN_SOFTMAX_ACCURATE`, `CUDNN_SOFTMAX_LOG`).
///
/// # Errors
/// `y` is not as long as `softmax` says ([`Error::Dimensions`](crate::Error::Dimensions)), or has 2^31
/// elements or more ([`Error::Dimension`](crate::Error::Dimension)). On a GPU also those that
/// [`convolution`](super::convolution()) has on a GPU.
pub fn softmax(queue: &Enqueue<'_>, softmax: Softmax, y: DeviceSliceMut<'_, f32>) -> Result<()> {
    let Softmax { sizes: [groups, classes, step], log } = softmax;
    queue.naming(&[("y", y.address())], check("softmax", "y", &softmax.sizes, y.len()))?;
    for (dimension, value) in
        [("the number of groups", groups), ("the number of classes", classes), ("the number of places", step)]
    {
        at_most("softmax", dimension, value, ELEMENTS)?;
    }
    let Some(stream) = queue.cuda_stream() else {
        return queue.simulate((y,), move |(y,)| host::softmax(classes, step, log, y));
    };
    let (at, empty) = (y.address(), y.is_empty());
    queue.admit(&(y,))?;
    if empty {
        return Ok(());
    }
    let mut handle = queue.state(|| Handle::new(stream))?;
    // SAFETY: as for `bias`: `y` is the run's, and as long as the sizes say, none of which is zero.
    queue.library(|| unsafe { handle.softmax(softmax.sizes, log, at) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activations_at_their_bends_and_far_out() {
        let all = [f32::NEG_INFINITY, -100.0, -1.0, 0.0, 0.5, 2.0, 100.0, f32::INFINITY];
        let of = |activation| all.map(|x| host::activated(activation, x));
        let inf = f32::INFINITY;
        assert_eq!(of(Activation::Relu), [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 100.0, inf]);
        assert_eq!(of(Activation::ClippedRelu { ceiling: 1.5 }), [0.0, 0.0, 0.0, 0.0, 0.5, 1.5, 1.5, 1.5]);
        let sigmoid = of(Activation::Sigmoid);
        assert_eq!([sigmoid[0], sigmoid[3], sigmoid[7]], [0.0, 0.5, 1.0]);
        assert!((sigmoid[2] - 0.268_941_42).abs() < 1e-7 && sigmoid[1] < 1e-43);
        assert_eq!(of(Activation::Tanh)[7], 1.0);
        let elu = of(Activation::Elu { alpha: 2.0 });
        assert_eq!([elu[0], elu[3], elu[5]], [-2.0, 0.0, 2.0]);
        assert!((elu[2] + 1.264_241_1).abs() < 1e-6);
    }

    #[test]
    fn nan_stays_nan() {
        let activations = [
            Activation::Relu,
            Activation::ClippedRelu { ceiling: 1.0 },
            Activation::Sigmoid,
            Activation::Tanh,
            Activation::Elu { alpha: 1.0 },
        ];
        for activation in activations {
            assert!(host::activated(activation, f32::NAN).is_nan(), "{activation:?}");
        }
        let mut y = [1.0, f32::NAN, 2.0, 0.0, 0.0, 0.0];
        host::softmax(3, 1, false, &mut y);
        assert!(y[..3].iter().all(|y| y.is_nan()), "{y:?}");
        assert!(y[3..].iter().all(|y| (y - 1.0 / 3.0).abs() < 1e-7), "{y:?}");
    }

    #[test]
    fn probabilities_add_up_to_1_and_keep_their_ratios() {
        for (groups, classes, step) in [(3, 5, 1), (2, 4, 6), (1, 1, 3), (4, 1, 1)] {
            let x: Vec<f32> = (0..groups * classes * step).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
            let (mut y, mut log) = (x.clone(), x.clone());
            host::softmax(classes, step, false, &mut y);
            host::softmax(classes, step, true, &mut log);
            for group in 0..groups {
                for place in 0..step {
                    let at = |class: usize| (group * classes + class) * step + place;
                    let sum: f64 = (0..classes).map(|class| f64::from(y[at(class)])).sum();
                    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
                    for class in 0..classes {
                        let difference = f64::from(x[at(class)]) - f64::from(x[at(0)]);
                        assert!(
                            (f64::from(log[at(class)]) - f64::from(log[at(0)]) - difference).abs() < 1e-4
                        );
                        assert!((f64::from(log[at(class)]).exp() - f64::from(y[at(class)])).abs() < 1e-5);
                    }
                }
            }
        }
        let mut far = [1000.0, 1000.0];
        host::softmax(2, 1, false, &mut far);
        assert_eq!(far, [0.5, 0.5]);
        host::softmax(0, 1, false, &mut []);
    }

    #[test]
    fn biases_go_by_the_channel() {
        let mut y = [0.0; 12];
        host::bias(2, &[1.0, 2.0, 3.0], &mut y);
        assert_eq!(y, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
        host::bias(0, &[], &mut []);
    }
}
