//! One column of a Parquet file, row group by row group.

use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;

use parquet::basic::{ConvertedType, Type};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{AsBytes, DataType};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, FileReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::schema::types::ColumnDescriptor;
use thalweg::io::Source;
use thalweg::plan::Chunk;

use crate::pages::Checked;
use crate::{Scalar, failed, nesting, numbers};

/// The number of values that are decoded at a time.
const BATCH: usize = 1 << 14;

/// The source that [`source::parquet`](crate::source::parquet()) makes.
pub struct ParquetReader<R, T: Scalar> {
    /// The file, until it is opened.
    file: Option<R>,
    column: String,
    /// The row groups that are read, if not all of them are.
    groups: Option<Range<usize>>,
    /// Until it fails.
    open: Option<Column<T>>,
}

struct Column<T: Scalar> {
    /// The column's part of each row group that has not begun, in order.
    groups: Box<dyn Iterator<Item = io::Result<Group<T>>> + Send>,
    current: Option<Group<T>>,
    /// The definition level of a value that is not null; 0 if there can be no nulls.
    present: i16,
    values: Vec<<T::Stored as DataType>::T>,
    levels: Vec<i16>,
    /// The rows of the file before the next one that is read.
    rows: u64,
    /// The rows of the file before the end of what is read.
    end: u64,
}

/// One row group's part of the column.
struct Group<T: Scalar> {
    reader: ColumnReaderImpl<T::Stored>,
    /// The rows that are left according to the file's metadata.
    left: u64,
}

impl<R: ChunkReader + 'static, T: Scalar> ParquetReader<R, T> {
    pub(crate) fn new(file: R, column: String, groups: Option<Range<usize>>) -> Self {
        Self { file: Some(file), column, groups, open: None }
    }

    /// What is left of the column, which whoever takes it gives back. An error or a panic leaves nothing: the rows after
    /// it would be taken for those that are asked for.
    fn take(&mut self) -> io::Result<Column<T>> {
        match (self.file.take(), self.open.take()) {
            (Some(file), _) => Self::open(file, &self.column, self.groups.as_ref()),
            (None, Some(open)) => Ok(open),
            (None, None) => Err(io::Error::new(ErrorKind::InvalidInput, "it has failed before")),
        }
    }

    fn open(file: R, name: &str, groups: Option<&Range<usize>>) -> io::Result<Column<T>> {
        nesting::check(&file)?;
        let file = SerializedFileReader::new(file).map_err(failed)?;
        let schema = file.metadata().file_metadata().schema_descr();
        let columns = schema.columns().iter().enumerate();
        let mut named = columns.filter(|(_, column)| column.path().string() == name).map(|(index, _)| index);
        let (index, others) = (named.next(), named.count());
        if others > 0 {
            let message = format!("there are {} columns `{name}`", 1 + others);
            return Err(io::Error::new(ErrorKind::InvalidData, message));
        }
        let Some(index) = index else {
            let names: Vec<_> =
                schema.columns().iter().map(|column| format!("`{}`", column.path())).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message = format!("there is no column `{name}`, but {}", names.replace('"', ""));
            return Err(io::Error::new(ErrorKind::NotFound, message));
        };
        let column = schema.column(index);
        check::<T>(&column, name)?;
        check_rows(file.metadata(), index, name)?;
        let present = column.max_def_level();
        let all = 0..file.num_row_groups();
        let groups = groups.unwrap_or(&all).clone();
        check_groups(&groups, all.end)?;
        // The numbers are not negative: `check_rows` has refused such files.
        let rows =
            |group: usize| u64::try_from(file.metadata().row_group(group).num_rows()).unwrap_or_default();
        let before = (0..groups.start).map(rows).fold(0, u64::saturating_add);
        let end = groups.clone().map(rows).fold(before, u64::saturating_add);
        let groups = groups.map(move |group| {
            let group = file.get_row_group(group).map_err(failed)?;
            let left = u64::try_from(group.metadata().num_rows()).unwrap_or_default();
            let pages = Checked(group.get_column_page_reader(index).map_err(failed)?);
            let reader = ColumnReaderImpl::new(Arc::clone(&column), Box::new(pages));
            Ok(Group { reader, left })
        });
        let (values, levels) = (Vec::new(), Vec::new());
        Ok(Column { groups: Box::new(groups), current: None, present, values, levels, rows: before, end })
    }
}

/// The number of row groups of a file.
pub(crate) fn row_groups(file: &impl ChunkReader) -> io::Result<usize> {
    nesting::check(file)?;
    let metadata = ParquetMetaDataReader::new().parse_and_finish(file).map_err(failed)?;
    Ok(metadata.num_row_groups())
}

fn check_groups(groups: &Range<usize>, all: usize) -> io::Result<()> {
    let Range { start, end } = *groups;
    if start > end {
        let message = format!("row groups {start}..{end} end before they begin");
        return Err(io::Error::new(ErrorKind::InvalidInput, message));
    }
    if end > all {
        let s = if all == 1 { "" } else { "s" };
        let message = format!("row groups {start}..{end} are not in the file, which has {all} row group{s}");
        return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
    }
    Ok(())
}

/// A file states its number of rows three times. If the three differ, the file is damaged and may seem to end
/// early. Whatever it has of a column that is in another file, it is not that column.
fn check_rows(file: &ParquetMetaData, column: usize, name: &str) -> io::Result<()> {
    let invalid = |message| Err(io::Error::new(ErrorKind::InvalidData, message));
    let rows = file.file_metadata().num_rows();
    let mut total: i64 = 0;
    for (index, group) in file.row_groups().iter().enumerate() {
        let rows = group.num_rows();
        let column = group.column(column);
        if let Some(path) = column.file_path().filter(|path| !path.is_empty()) {
            return invalid(format!("row group {index} of column `{name}` is in another file, `{path}`"));
        }
        let values = column.num_values();
        // A column without lists has one value a row, null or not.
        if rows < 0 || values != rows {
            let message =
                format!("row group {index} has {rows} rows, and column `{name}` has {values} values there");
            return invalid(message);
        }
        total = total.saturating_add(rows);
    }
    if total != rows {
        return invalid(format!("the file has {rows} rows, and its row groups have {total}"));
    }
    Ok(())
}

fn check<T: Scalar>(column: &ColumnDescriptor, name: &str) -> io::Result<()> {
    let invalid = |message| Err(io::Error::new(ErrorKind::InvalidData, message));
    if column.max_rep_level() > 0 {
        return invalid(format!("column `{name}` holds lists, not one number a row"));
    }
    match numbers(column) {
        Some(numbers) if numbers == T::NAME => Ok(()),
        Some(numbers) => invalid(format!("column `{name}` holds `{numbers}`, not `{}`", T::NAME)),
        None => {
            let stored = column.physical_type();
            let kind = match column.converted_type() {
                ConvertedType::NONE => format!("`{stored}`"),
                kind => format!("`{stored}` ({kind})"),
            };
            invalid(format!("column `{name}` holds {kind}, not `{}`", T::NAME))
        }
    }
}

impl<T: Scalar> Column<T> {
    fn read(&mut self, name: &str, slot: &mut [T]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < slot.len() {
            let Some(group) = &mut self.current else {
                match self.groups.next() {
                    Some(group) => self.current = Some(group?),
                    None => break,
                }
                continue;
            };
            if group.left == 0 {
                self.current = None;
                continue;
            }
            let left = usize::try_from(group.left).unwrap_or(usize::MAX);
            let wanted = (slot.len() - filled).min(left).min(BATCH);
            self.values.clear();
            self.levels.clear();
            let levels = (self.present > 0).then_some(&mut self.levels);
            let (rows, ..) =
                group.reader.read_records(wanted, levels, None, &mut self.values).map_err(failed)?;
            if let Some(null) = self.levels.iter().position(|&level| level < self.present) {
                let message = format!("row {} of column `{name}` is null", self.rows + null as u64);
                return Err(io::Error::new(ErrorKind::InvalidData, message));
            }
            if rows == 0 || rows != self.values.len() || rows > wanted {
                let message = format!("column `{name}` ended at row {}, within a row group", self.rows);
                return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
            }
            for (index, (to, from)) in slot[filled..].iter_mut().zip(&self.values).enumerate() {
                let Some(value) = T::loaded(from) else {
                    let held = match T::Stored::get_physical_type() {
                        Type::FIXED_LEN_BYTE_ARRAY => format!("{} bytes", from.as_bytes().len()),
                        _ => format!("{from:?}"),
                    };
                    let row = self.rows + index as u64;
                    let message =
                        format!("row {row} of column `{name}` holds {held}, which is no `{}`", T::NAME);
                    return Err(io::Error::new(ErrorKind::InvalidData, message));
                };
                *to = value;
            }
            (filled, group.left, self.rows) =
                (filled + rows, group.left - rows as u64, self.rows + rows as u64);
        }
        Ok(filled)
    }
}

impl<R: ChunkReader + 'static, T: Scalar> Source<T> for ParquetReader<R, T> {
    fn read(&mut self, _: Chunk, slot: &mut [T]) -> io::Result<usize> {
        let mut open = self.take()?;
        let filled = open.read(&self.column, slot)?;
        self.open = Some(open);
        Ok(filled)
    }

    fn elements(&mut self, _: usize) -> io::Result<Option<usize>> {
        // Of a whole column another argument may want fewer rows.
        if self.groups.is_none() {
            return Ok(None);
        }
        let open = self.take()?;
        let left = usize::try_from(open.end.saturating_sub(open.rows)).ok();
        self.open = Some(open);
        Ok(left)
    }
}

impl<R, T: Scalar> std::fmt::Debug for ParquetReader<R, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetReader").field("column", &self.column).finish_non_exhaustive()
    }
}
