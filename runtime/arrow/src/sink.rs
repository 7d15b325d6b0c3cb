//! Sinks for a pipeline's outputs: arrays, and record batches of one column.

use std::io;

use arrow_array::{ArrowPrimitiveType, PrimitiveArray, RecordBatch};
use thalweg::io::Streamed;

pub use crate::arrays::{EachArray, EachBatch};

/// Calls a function with each chunk's elements as an Arrow array. The run fails if that is one of decimals,
/// whose integers are not their values.
///
/// ```
/// use arrow_array::Float32Array;
/// use thalweg::prelude::*;
/// use thalweg_arrow::{sink, source};
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [f32];
/// #         output z: [f32];
/// #         chunk c = 2;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let x = Float32Array::from(vec![0.5, 1.5, 2.5]);
/// let mut arrays = Vec::new();
/// let take = sink::arrays(|array: Float32Array| {
///     arrays.push(array);
///     Ok(())
/// });
/// let x = source::values(&x).expect("no nulls");
/// Through::new(&Device::simulated(Simulation::default()))?.run(x, take)?;
/// assert_eq!(arrays, [Float32Array::from(vec![0.5, 1.5]), Float32Array::from(vec![2.5])]);
/// # Ok::<(), Error>(())
/// ```
pub fn arrays<P, F>(function: F) -> Streamed<EachArray<P, F>>
where
    P: ArrowPrimitiveType,
    F: FnMut(PrimitiveArray<P>) -> io::Result<()> + Send,
{
    Streamed(EachArray::new(function))
}

/// Calls a function with each chunk's elements as a record batch of one column, which it can pass to a writer
/// of Arrow files.
pub fn arrow<F>(column: impl Into<String>, function: F) -> Streamed<EachBatch<F>>
where
    F: FnMut(RecordBatch) -> io::Result<()> + Send,
{
    Streamed(EachBatch::new(column.into(), function))
}
