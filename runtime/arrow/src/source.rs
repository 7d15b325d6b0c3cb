//! Sources for a pipeline's inputs: arrays, and columns of record batches.

use std::io;

use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use thalweg::io::Streamed;

use crate::Scalar;
pub use crate::arrays::{Arrays, Batch};

/// The numbers of an Arrow array, to pass as a slice.
///
/// # Errors
/// Fails if some of the numbers are null, and says how many. Fails if they are decimals, whose integers are
/// not their values.
pub fn values<P: ArrowPrimitiveType>(array: &PrimitiveArray<P>) -> io::Result<&[P::Native]> {
    crate::arrays::values(array)
}

/// Arrow arrays one after another, each of any length, whatever the chunks are.
///
/// The items are `ArrayRef`s, `Float32Array`s or references to them. Dates and times are the `i32` or `i64`
/// that they are stored as. The run fails at an array of another type, and at one with nulls. After that, the
/// source fails in any run.
pub fn arrays<'a, T: Scalar, I>(arrays: I) -> Streamed<Arrays<'a, T>>
where
    I: IntoIterator<IntoIter: Send + 'a, Item: Array>,
{
    Streamed(Arrays::of_arrays(arrays))
}

/// A column of Arrow's record batches, read like [`arrays`]. The run also fails at a batch without this
/// column, or with two of its name. The [crate's page](crate) has an example.
pub fn arrow<'a, T: Scalar, I>(batches: I, column: impl Into<String>) -> Streamed<Arrays<'a, T>>
where
    I: IntoIterator<IntoIter: Send + 'a, Item: Batch>,
{
    Streamed(Arrays::of_batches(batches, column.into()))
}
