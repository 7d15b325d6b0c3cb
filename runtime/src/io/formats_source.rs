//! Sources that are files and columns of other programs. `source` exports them.

use std::io::{self, Read};

use super::npy::{self, NpyReader};
use super::{Scalar, Streamed};

/// The elements of NumPy's `.npy` file, of any shape in C order, on a machine of the same byte order.
///
/// The items are what the pipeline says: an array of the shape `(n, 3, 4)` is `n` items of `input x: [f32; 12]`. A `bool` is read as
/// a `u8`. The run fails if the elements are not those of the pipeline, if the array is in Fortran order, if the file is shorter
/// than its header says. What follows the array is not read.
///
/// ```
/// use thalweg::prelude::*;
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
/// let mut file = std::io::Cursor::new(Vec::new());
/// let mut through = Through::new(&Device::simulated(Spec::default()))?;
/// through.run(&[0.5, 1.5, 2.5], sink::npy(&mut file))?;
///
/// let (mut z, file) = (Vec::new(), file.into_inner());
/// through.run(source::npy(&file[..]), sink::extend(&mut z))?;
/// assert_eq!(z, [0.5, 1.5, 2.5]);
/// # Ok::<(), Error>(())
/// ```
pub fn npy<R: Read + Send>(file: R) -> Streamed<NpyReader<R>> {
    Streamed(NpyReader::new(file))
}

/// The elements of a `.npy` file that is in memory, mapped there say. They are what [`npy()`] would give, to pass as a slice.
///
/// # Errors
/// What [`npy()`] fails at: [`InvalidData`](io::ErrorKind::InvalidData), or [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) of a
/// file that is shorter than its header says. [`InvalidInput`](io::ErrorKind::InvalidInput) if they are not aligned as `T` is; in a
/// file that is mapped from its beginning they are.
pub fn npy_slice<T: Scalar>(file: &[u8]) -> io::Result<&[T]> {
    npy::slice(file)
}

/// The numbers of an Arrow array, to pass as a slice.
///
/// # Errors
/// If some of them are null, how many.
#[cfg(feature = "arrow")]
pub fn values<P: arrow_array::ArrowPrimitiveType>(
    array: &arrow_array::PrimitiveArray<P>,
) -> io::Result<&[P::Native]> {
    super::arrow::values(array)
}

/// Arrow arrays one after another, each of any length: they need not have to do with chunks. Needs the feature `arrow`.
///
/// The items are `ArrayRef`s, `Float32Array`s or references to such. Dates and times are the `i32` or `i64` that they are stored
/// as. The run fails at an array of other elements, and at one with nulls.
#[cfg(feature = "arrow")]
pub fn arrays<'a, T: Scalar, I>(arrays: I) -> Streamed<super::arrow::Arrays<'a, T>>
where
    I: IntoIterator<IntoIter: Send + 'a, Item: arrow_array::Array>,
{
    Streamed(super::arrow::Arrays::of_arrays(arrays))
}

/// A column of Arrow's record batches, as [`arrays`]. Needs the feature `arrow`.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_array::{Float32Array, RecordBatch};
/// use thalweg::prelude::*;
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
/// let batch = |x| RecordBatch::try_from_iter([("x", Arc::new(Float32Array::from(x)) as _)]);
/// let mut means = Vec::new();
/// let take = sink::arrow("z", |batch| {
///     means.push(batch);
///     Ok(())
/// });
/// let batches = [batch(vec![0.5]), batch(vec![1.5, 2.5])];
/// Through::new(&Device::simulated(Spec::default()))?.run(source::arrow(batches, "x"), take)?;
/// assert_eq!(means[0].column(0).as_ref(), &Float32Array::from(vec![0.5, 1.5]));
/// assert_eq!(means[1].column(0).as_ref(), &Float32Array::from(vec![2.5]));
/// # Ok::<(), Error>(())
/// ```
#[cfg(feature = "arrow")]
pub fn arrow<'a, T: Scalar, I>(batches: I, column: impl Into<String>) -> Streamed<super::arrow::Arrays<'a, T>>
where
    I: IntoIterator<IntoIter: Send + 'a, Item: super::arrow::Batch>,
{
    Streamed(super::arrow::Arrays::of_batches(batches, column.into()))
}

/// A column of a Parquet file, read page by page. Needs the feature `parquet`.
///
/// A column within a group is named with dots, `position.x`. The run fails if there is none of this name, if its numbers are not
/// those of the pipeline, if the file does not agree with itself on how many rows there are, and at a null.
/// Dates and times are the `i32` or `i64` that they are stored as. Two columns are two sources, each with a
/// `File` opened for itself: one that is a `try_clone` of another's shares its position.
///
/// Pages are read that are not compressed, or by Snappy; others if the program enables the feature of the crate `parquet`
/// (`zstd`, say) in its own dependencies.
///
/// ```
/// use thalweg::prelude::*;
///
/// # stream_pipeline! {
/// #     pipeline Through {
/// #         input x: [f32];
/// #         output z: [f32];
/// #         chunk c = 4;
/// #         stage there { copy x -> dx; }
/// #         stage back { copy dx -> z; }
/// #     }
/// # }
/// let file = tempfile::tempfile().expect("a file");
/// let mut through = Through::new(&Device::simulated(Spec::h200()))?;
/// through.run(&[0.5, 1.5, 2.5], sink::parquet(&file, "x"))?;
///
/// let mut z = Vec::new();
/// through.run(source::parquet(file, "x"), sink::extend(&mut z))?;
/// assert_eq!(z, [0.5, 1.5, 2.5]);
/// # Ok::<(), Error>(())
/// ```
#[cfg(feature = "parquet")]
pub fn parquet<R, T>(file: R, column: impl Into<String>) -> Streamed<super::parquet::ParquetReader<R, T>>
where
    R: parquet::file::reader::ChunkReader + 'static,
    T: Scalar,
{
    Streamed(super::parquet::ParquetReader::new(file, column.into()))
}
