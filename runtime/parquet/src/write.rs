//! A Parquet file of one column.

use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Stored};
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use thalweg::io::Sink;
use thalweg::plan::Chunk;

use crate::{Scalar, failed};

/// The rows of a row group if the properties do not say.
const GROUP: usize = 1 << 20;

/// The sink that [`sink::parquet`](crate::sink::parquet()) makes.
pub struct ParquetWriter<W: Write + Send, T: Scalar> {
    file: File<W>,
    /// The values of the row group that is not full.
    rows: Vec<<T::Stored as DataType>::T>,
    /// The number of rows of a full row group.
    group: usize,
}

enum File<W: Write + Send> {
    New { writer: W, column: String, properties: Arc<WriterProperties> },
    Open(SerializedFileWriter<W>),
    Closed,
}

/// Computed numbers seldom occur twice, so a dictionary of them only costs time.
pub(crate) fn properties() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::SNAPPY).set_dictionary_enabled(false).build()
}

impl<W: Write + Send, T: Scalar> ParquetWriter<W, T> {
    pub(crate) fn new(writer: W, column: String, properties: WriterProperties) -> Self {
        let group = properties.max_row_group_row_count().unwrap_or(GROUP);
        Self { file: File::New { writer, column, properties: Arc::new(properties) }, rows: Vec::new(), group }
    }

    fn open(&mut self) -> io::Result<&mut SerializedFileWriter<W>> {
        self.file = match std::mem::replace(&mut self.file, File::Closed) {
            File::New { writer, column, properties } => {
                let schema = schema::<T>(&column).map_err(failed)?;
                let open = SerializedFileWriter::new(writer, Arc::new(schema), properties);
                File::Open(open.map_err(failed)?)
            }
            file => file,
        };
        match &mut self.file {
            File::Open(open) => Ok(open),
            _ => Err(io::Error::new(ErrorKind::InvalidInput, "the file is closed")),
        }
    }

    /// Writes the collected values as a row group.
    fn write_group(&mut self) -> io::Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        let mut group = self.open()?.next_row_group().map_err(failed)?;
        if let Some(mut column) = group.next_column().map_err(failed)? {
            column.typed::<T::Stored>().write_batch(&rows, None, None).map_err(failed)?;
            column.close().map_err(failed)?;
        }
        group.close().map_err(failed)?;
        rows.clear();
        self.rows = rows;
        Ok(())
    }
}

fn schema<T: Scalar>(column: &str) -> Result<Type> {
    let (stored, kind) = match T::NAME {
        "f16" => (Stored::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16)),
        "f32" => (Stored::FLOAT, None),
        "f64" => (Stored::DOUBLE, None),
        "i32" => (Stored::INT32, None),
        "i64" => (Stored::INT64, None),
        "u64" => (Stored::INT64, Some(LogicalType::integer(64, false))),
        name => {
            let bits = 8 * size_of::<T>() as i8;
            (Stored::INT32, Some(LogicalType::integer(bits, name.starts_with('i'))))
        }
    };
    let column = Type::primitive_type_builder(column, stored)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(kind)
        .with_length(if stored == Stored::FIXED_LEN_BYTE_ARRAY { 2 } else { -1 })
        .build()?;
    Type::group_type_builder("schema").with_fields(vec![Arc::new(column)]).build()
}

impl<W: Write + Send, T: Scalar> Sink<T> for ParquetWriter<W, T> {
    fn write(&mut self, _: Chunk, mut data: &[T]) -> io::Result<()> {
        // The file is opened here so that a writer that fails does so at once.
        self.open()?;
        while !data.is_empty() {
            let (now, later) = data.split_at(data.len().min(self.group - self.rows.len()));
            self.rows.extend(now.iter().map(|&value| value.stored()));
            if self.rows.len() == self.group {
                self.write_group()?;
            }
            data = later;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        self.open()?.finish().map_err(failed)?;
        // This drops the writer below, which flushes it.
        self.file = File::Closed;
        Ok(())
    }
}

impl<W: Write + Send, T: Scalar> std::fmt::Debug for ParquetWriter<W, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}
