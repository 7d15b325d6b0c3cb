#![deny(missing_debug_implementations, unreachable_pub)]
//! Arrow's arrays and record batches as [sources](mod@source) and [sinks](mod@sink) of [`thalweg`]'s
//! pipelines, with the types of `arrow-array` 60.
//!
//! | function | is for |
//! | --- | --- |
//! | [`source::values`] | passing an array as a slice, without a copy |
//! | [`source::arrays`], [`source::arrow`] | an `input`: arrays one after another, or a column of record batches |
//! | [`sink::arrays`], [`sink::arrow`] | an `output`: a function that is called with each chunk's array, or with a record batch of it |
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow_array::{Float32Array, RecordBatch};
//! use thalweg::prelude::*;
//! use thalweg_arrow::{sink, source};
//!
//! stream_pipeline! {
//!     pipeline Through {
//!         input x: [f32];
//!         output z: [f32];
//!         chunk c = 2;
//!         stage there { copy x -> dx; }
//!         stage back { copy dx -> z; }
//!     }
//! }
//!
//! let batch = |x| RecordBatch::try_from_iter([("x", Arc::new(Float32Array::from(x)) as _)]);
//! let mut out = Vec::new();
//! let take = sink::arrow("z", |batch| {
//!     out.push(batch);
//!     Ok(())
//! });
//! let batches = [batch(vec![0.5]), batch(vec![1.5, 2.5])];
//! Through::new(&Device::simulated(Simulation::default()))?.run(source::arrow(batches, "x"), take)?;
//! assert_eq!(out[0].column(0).as_ref(), &Float32Array::from(vec![0.5, 1.5]));
//! assert_eq!(out[1].column(0).as_ref(), &Float32Array::from(vec![2.5]));
//! # Ok::<(), Error>(())
//! ```

mod arrays;
mod scalar;
pub mod sink;
pub mod source;

pub use scalar::Scalar;

/// A run moves its sources and sinks to threads of their own.
const _: () = {
    const fn goes_to_threads<T: Send>() {}
    goes_to_threads::<source::Arrays<'_, f32>>();
    goes_to_threads::<sink::EachArray<arrow_array::types::Float32Type, fn()>>();
    goes_to_threads::<sink::EachBatch<fn()>>();
};
