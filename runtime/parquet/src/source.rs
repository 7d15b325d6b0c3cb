//! Sources for a pipeline's inputs: columns of files.

use parquet::file::reader::ChunkReader;
use thalweg::io::Streamed;

use crate::Scalar;
pub use crate::read::ParquetReader;

/// A column of a Parquet file, read page by page. The [crate's page](crate) has an example.
///
/// A column within a group is named with dots, `position.x`. The run fails if the file has no column of this
/// name or more than one, if the column is in another file or more than 100 groups deep, if its type is not
/// the pipeline's, if the file contradicts itself about its number of rows, and at a null. After that, the
/// source fails in any run. Dates and times are the `i32` or `i64` that they are stored as. Two columns are
/// two sources, each with a `File` that was opened for it alone: a `try_clone` shares the position of the
/// original.
///
/// Pages may be uncompressed or compressed by Snappy. For another compression, the program enables its
/// feature of the crate `parquet` (`zstd`, for example) in its own dependencies.
pub fn parquet<R, T>(file: R, column: impl Into<String>) -> Streamed<ParquetReader<R, T>>
where
    R: ChunkReader + 'static,
    T: Scalar,
{
    Streamed(ParquetReader::new(file, column.into()))
}
