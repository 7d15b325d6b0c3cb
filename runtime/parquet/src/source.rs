//! Sources for a pipeline's inputs: columns of files.

use std::io;
use std::ops::Range;

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
    Streamed(ParquetReader::new(file, column.into(), None))
}

/// Like [`parquet()`], but reads a range of the file's row groups, which are numbered from 0. The source has a
/// length, the number of their rows: all other arguments need as many items.
///
/// The row groups of a [rank](thalweg::World) are `world.part(groups)`, where [`row_groups`] gives `groups`.
/// Ranks then read no row group of another one, and may have different numbers of rows. The run fails if the
/// file has no such row groups, or if the range ends before it begins.
///
/// ```
/// use thalweg::prelude::*;
/// use thalweg_parquet::source::{parquet_groups, row_groups};
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
/// # let file = tempfile::tempfile().expect("a file");
/// # let mut through = Through::new(&Device::simulated(Simulation::h200()))?;
/// # through.run(&[0.5, 1.5, 2.5], thalweg_parquet::sink::parquet(&file, "x"))?;
/// let world = World::alone();
/// let own = world.part(row_groups(&file).expect("a Parquet file"));
/// assert_eq!(own, 0..1);
/// let mut z = Vec::new();
/// through.run(parquet_groups(file, "x", own), sink::extend(&mut z))?;
/// assert_eq!(z, [0.5, 1.5, 2.5]);
/// # Ok::<(), Error>(())
/// ```
pub fn parquet_groups<R, T>(
    file: R,
    column: impl Into<String>,
    groups: Range<usize>,
) -> Streamed<ParquetReader<R, T>>
where
    R: ChunkReader + 'static,
    T: Scalar,
{
    Streamed(ParquetReader::new(file, column.into(), Some(groups)))
}

/// The number of row groups of a Parquet file. [`parquet_groups`] has an example.
///
/// # Errors
/// The file is no Parquet file, or damaged: [`InvalidData`](io::ErrorKind::InvalidData) or
/// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof). The errors of the file itself.
pub fn row_groups<R: ChunkReader>(file: &R) -> io::Result<usize> {
    crate::read::row_groups(file)
}
