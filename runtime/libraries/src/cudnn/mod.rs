//! cuDNN: the layers of neural networks.
//!
//! [`convolution`](convolution()), [`bias`], [`activation`] and [`softmax`] work on images in `f32`,
//! `[images, channels, height, width]` with the columns side by side (NCHW).
//!
//! ```
//! use thalweg_libraries::cudnn::{self, Activation, Convolution};
//! use thalweg::prelude::*;
//!
//! stream_pipeline! {
//!     /// Edges of grey images of 6 x 6.
//!     pipeline Edges {
//!         input image: [f32; 36];
//!         resident filter: [f32];
//!         output edge: [f32; 36];
//!         device de: [f32; 36];
//!         chunk c = auto;
//!         stage load { copy image -> di; }
//!         stage detect {
//!             call cudnn::convolution(Convolution::new([c.len, 1, 6, 6], [1, 1, 1, 3]).padding([0, 1]), &di, &filter, out de);
//!             call cudnn::activation(Activation::Relu, &mut de);
//!         }
//!         stage store { copy de -> edge; }
//!     }
//! }
//!
//! let image = [[0.0, 0.0, 1.0, 1.0, 1.0, 0.0]; 6];
//! let mut edge = [[0.0; 6]; 6];
//! let mut edges = Edges::new(&Device::simulated(Simulation::default()))?;
//! edges.run(image.as_flattened(), &[-1.0, 0.0, 1.0], edge.as_flattened_mut())?;
//! assert_eq!(edge, [[0.0, 1.0, 1.0, 0.0, 0.0, 0.0]; 6]);
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! Products are exact `f32` (`CUDNN_FMA_MATH`) unless a convolution asks for [`tf32`](Convolution::tf32). NaN
//! is passed on, on both devices. If a filter is not finite, results for which it reaches into the padding
//! are unspecified.

mod api;
mod convolution;
mod handle;
mod host;
mod layers;
mod sys;

pub use convolution::{Convolution, convolution};
pub use layers::{Activation, Softmax, activation, bias, softmax};

use crate::Error;

/// The most elements that a tensor may have: cuDNN counts them with 32 bits.
const ELEMENTS: usize = i32::MAX as usize;

/// Refuses a tensor that does not have as many elements as its sizes say, or has too many for cuDNN.
fn check(routine: &'static str, argument: &'static str, sizes: &[usize], len: usize) -> Result<(), Error> {
    // A number that does not fit into a `usize` is more than any slice has.
    let needed = sizes.iter().try_fold(1_usize, |len, size| len.checked_mul(*size)).unwrap_or(usize::MAX);
    if needed != len {
        let sizes: Vec<_> = sizes.iter().map(usize::to_string).collect();
        let dimensions = sizes.join(" x ");
        return Err(Error::Dimensions { routine, argument, buffer: None, dimensions, needed, len });
    }
    let length = match argument {
        "x" => "the length of `x`",
        "w" => "the length of `w`",
        _ => "the length of `y`",
    };
    at_most(routine, length, len, ELEMENTS)
}

/// Refuses a dimension that is too large.
fn at_most(routine: &'static str, dimension: &'static str, value: usize, most: usize) -> Result<(), Error> {
    if value <= most {
        return Ok(());
    }
    Err(Error::Dimension { routine, dimension, value, allowed: format!("at most {most}") })
}

/// Refuses a dimension that is zero.
fn at_least_one(routine: &'static str, dimension: &'static str, value: usize) -> Result<(), Error> {
    if value > 0 {
        return Ok(());
    }
    Err(Error::Dimension { routine, dimension, value, allowed: "at least 1".to_owned() })
}
