//! Sinks for a pipeline's outputs: files of one column.

use std::io::Write;

use parquet::file::properties::WriterProperties;
use thalweg::io::Streamed;

use crate::Scalar;
pub use crate::write::ParquetWriter;

/// A Parquet file of one column without nulls, in row groups of 1 Mi rows, compressed by Snappy. The [crate's
/// page](crate) has an example.
///
/// One row group is in memory at a time. The file is valid once its end is written, as the run ends; an
/// unfinished file has no end. After a run that failed elsewhere, the file holds what is complete, as
/// [`Error::complete`](thalweg::Error::complete) counts it.
///
/// Each [rank](thalweg::World) writes a file of its own, such as `z-3.parquet`: a Parquet file has one end,
/// which says where all of its row groups are, so ranks cannot write parts of one file. Readers of Parquet
/// take a folder of files as one table.
pub fn parquet<W, T>(file: W, column: impl Into<String>) -> Streamed<ParquetWriter<W, T>>
where
    W: Write + Send,
    T: Scalar,
{
    parquet_with(file, column, crate::write::properties())
}

/// Like [`parquet()`], with the row groups, pages and compression of `properties`, whose limit on the bytes
/// of a row group is ignored.
pub fn parquet_with<W, T>(
    file: W,
    column: impl Into<String>,
    properties: WriterProperties,
) -> Streamed<ParquetWriter<W, T>>
where
    W: Write + Send,
    T: Scalar,
{
    Streamed(ParquetWriter::new(file, column.into(), properties))
}
