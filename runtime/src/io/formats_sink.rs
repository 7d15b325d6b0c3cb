//! Sinks that are files and columns for other programs. `sink` exports them.

use std::io::{Seek, Write};

use super::Streamed;
use super::npy::NpyWriter;

/// The elements as NumPy's `.npy` file, an array of one dimension.
///
/// Its header says how many there are, so it is written at the end. Until then zeros are there: a file that was not finished is no
/// `.npy` file. After a run that failed elsewhere it holds what is complete, as [`Error::complete`](crate::Error::complete) counts.
///
/// ```
/// use std::io::Cursor;
///
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
/// let mut file = Cursor::new(Vec::new()); // or a `File`
/// Through::new(&Device::simulated(Spec::h200()))?.run(&[0.5, 1.5, 2.5], sink::npy(&mut file))?;
///
/// let file = file.into_inner();
/// assert!(file.starts_with(b"\x93NUMPY"));
/// assert!(String::from_utf8_lossy(&file).contains("'shape': (3,)"));
/// # Ok::<(), Error>(())
/// ```
pub fn npy<W: Write + Seek + Send>(file: W) -> Streamed<NpyWriter<W>> {
    npy_items(file, &[])
}

/// As [`npy()`], an array of items of this shape: for `output z: [f32; 12]` the shape `[3, 4]` makes it `(n, 3, 4)`. The run fails in
/// the end if the elements are no whole number of items ([`ErrorKind::Sink`](crate::ErrorKind::Sink)).
///
/// ```
/// use std::io::Cursor;
///
/// use thalweg::prelude::*;
///
/// stream_pipeline! {
///     pipeline Tiles {
///         input x: [u8; 4];
///         output z: [u8; 4];
///         chunk c = 2;
///         stage there { copy x -> dx; }
///         stage back { copy dx -> z; }
///     }
/// }
///
/// let mut file = Cursor::new(Vec::new());
/// let mut tiles = Tiles::new(&Device::simulated(Spec::h200()))?;
/// tiles.run(&[0; 12], sink::npy_items(&mut file, &[2, 2]))?;
/// assert!(String::from_utf8_lossy(&file.into_inner()).contains("'shape': (3, 2, 2)"));
/// # Ok::<(), Error>(())
/// ```
pub fn npy_items<W: Write + Seek + Send>(file: W, shape: &[usize]) -> Streamed<NpyWriter<W>> {
    Streamed(NpyWriter::new(file, shape))
}

/// Calls a function with each chunk's elements as an Arrow array. Needs the feature `arrow`.
///
/// ```
/// use arrow_array::Float32Array;
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
/// let x = Float32Array::from(vec![0.5, 1.5, 2.5]);
/// let mut arrays = Vec::new();
/// let take = sink::arrays(|array: Float32Array| {
///     arrays.push(array);
///     Ok(())
/// });
/// let x = source::values(&x).expect("no nulls");
/// Through::new(&Device::simulated(Spec::default()))?.run(x, take)?;
/// assert_eq!(arrays, [Float32Array::from(vec![0.5, 1.5]), Float32Array::from(vec![2.5])]);
/// # Ok::<(), Error>(())
/// ```
#[cfg(feature = "arrow")]
pub fn arrays<P, F>(function: F) -> Streamed<super::arrow::EachArray<P, F>>
where
    P: arrow_array::ArrowPrimitiveType,
    F: FnMut(arrow_array::PrimitiveArray<P>) -> std::io::Result<()> + Send,
{
    Streamed(super::arrow::EachArray::new(function))
}

/// Calls a function with each chunk's elements as a record batch of one column, which a writer of Arrow files takes, say. Needs the
/// feature `arrow`.
#[cfg(feature = "arrow")]
pub fn arrow<F>(column: impl Into<String>, function: F) -> Streamed<super::arrow::EachBatch<F>>
where
    F: FnMut(arrow_array::RecordBatch) -> std::io::Result<()> + Send,
{
    Streamed(super::arrow::EachBatch::new(column.into(), function))
}

/// A Parquet file of one column without nulls, in row groups of 1 Mi rows, compressed by Snappy. Needs the feature `parquet`.
///
/// One row group is in memory at a time. The file is one when its end is written, as the run ends: what was not finished has none. After
/// a run that failed elsewhere it holds what is complete, as [`Error::complete`](crate::Error::complete) counts.
/// [`source::parquet`](super::source::parquet()) has an example.
#[cfg(feature = "parquet")]
pub fn parquet<W, T>(file: W, column: impl Into<String>) -> Streamed<super::parquet::ParquetWriter<W, T>>
where
    W: Write + Send,
    T: super::Scalar,
{
    parquet_with(file, column, super::parquet::properties())
}

/// As [`parquet()`], with other row groups, pages, compression: of the `properties` all but the number of bytes in a row group.
#[cfg(feature = "parquet")]
pub fn parquet_with<W, T>(
    file: W,
    column: impl Into<String>,
    properties: parquet::file::properties::WriterProperties,
) -> Streamed<super::parquet::ParquetWriter<W, T>>
where
    W: Write + Send,
    T: super::Scalar,
{
    Streamed(super::parquet::ParquetWriter::new(file, column.into(), properties))
}
