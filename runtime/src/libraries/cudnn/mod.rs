//! cuDNN: the layers of neural networks.
//!
//! [`convolution`](convolution()), [`bias`], [`activation`] and [`softmax`] work on images in `f32`, `[images, channels, height, width]` with the
//! columns side by side (NCHW).
//!
//! ```
//! use thalweg::cudnn::{self, Activation, Convolution};
//! use thalweg::prelude::*;
//! use thalweg::Spec;
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
//! let mut edges = Edges::new(&Device::simulated(Spec::default()))?;
//! edges.run(image.as_flattened(), &[-1.0, 0.0, 1.0], edge.as_flattened_mut())?;
//! assert_eq!(edge, [[0.0, 1.0, 1.0, 0.0, 0.0, 0.0]; 6]);
//! # Ok::<(), thalweg::Error>(())
//! ```
//!
//! Products are exact `f32` (`CUDNN_FMA_MATH`) unless a convolution asks for [`tf32`](Convolution::tf32). NaN is passed on, on both
//! devices; what stands beside it in the padding of a filter that is not finite is unspecified.

mod api;
mod convolution;
mod handle;
mod host;
mod layers;
mod sys;

pub use convolution::{Convolution, convolution};
pub use layers::{Activation, Softmax, activation, bias, softmax};

use crate::base::error::{ErrorKind, Result};

/// Elements that a tensor may have: cuDNN counts them with 32 bits.
const ELEMENTS: usize = i32::MAX as usize;

/// Refuses a tensor that has not as many elements as its sizes say, or too many for cuDNN.
fn check(routine: &'static str, argument: &'static str, sizes: &[usize], len: usize) -> Result<()> {
    // What does not fit into a `usize` is more than any slice has.
    let needed = sizes.iter().try_fold(1_usize, |len, size| len.checked_mul(*size)).unwrap_or(usize::MAX);
    if needed != len {
        let sizes: Vec<_> = sizes.iter().map(usize::to_string).collect();
        let dimensions = sizes.join(" x ");
        return Err(ErrorKind::Dimensions { routine, argument, buffer: None, dimensions, needed, len }.into());
    }
    let length = match argument {
        "x" => "the length of `x`",
        "w" => "the length of `w`",
        _ => "the length of `y`",
    };
    at_most(routine, length, len, ELEMENTS)
}

/// Refuses a dimension that is too large.
fn at_most(routine: &'static str, dimension: &'static str, value: usize, most: usize) -> Result<()> {
    if value <= most {
        return Ok(());
    }
    Err(ErrorKind::Dimension { routine, dimension, value, allowed: format!("at most {most}") }.into())
}

/// Refuses a dimension that is zero.
fn at_least_one(routine: &'static str, dimension: &'static str, value: usize) -> Result<()> {
    if value > 0 {
        return Ok(());
    }
    Err(ErrorKind::Dimension { routine, dimension, value, allowed: "at least 1".to_owned() }.into())
}
