//! Attacks on the sources and sinks of other programs' files: readers that are used again after they have
//! failed, integers that are no values, names that stand for two columns.

use std::io::{self, Read, Seek, Write};
use std::sync::Arc;

use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type};
use arrow_array::{ArrayRef, Float32Array, PrimitiveArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::data_type::{DataType as ParquetType, FloatType, Int32Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use thalweg::io::{Source, Streamed};
use thalweg::prelude::*;

use super::{opened, refused, refuses, taken, through};

/// A file of one row group, with the values of each column of a schema.
pub(super) fn file<D: ParquetType>(
    schema: &str,
    columns: &[&[D::T]],
    properties: WriterProperties,
) -> bytes::Bytes {
    let schema = parse_message_type(schema).expect("a schema");
    let mut file = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::new(properties)).expect("a file");
    let mut group = writer.next_row_group().expect("a row group");
    for values in columns {
        let mut column = group.next_column().expect("no failure").expect("a column");
        column.typed::<D>().write_batch(values, None, None).expect("memory takes it");
        column.close().expect("memory takes it");
    }
    group.close().expect("memory takes it");
    writer.close().expect("memory takes it");
    file.into()
}

/// The message of a second run with a reader whose first run has failed with another.
fn fails_again(reader: &mut (impl Source<f32> + ?Sized), first: &str) -> String {
    assert_eq!(refused::<f32>(2, Streamed(&mut *reader)).0, first);
    refused::<f32>(2, Streamed(reader)).0
}

/// What comes after a failure would seem to be the beginning.
#[test]
fn a_reader_that_has_failed_gives_nothing_more() {
    let null = "row 6 of column `x` is null";
    let mut reader = thalweg_parquet::source::parquet::<_, f32>(opened("nulls.parquet"), "x").0;
    let said = fails_again(&mut reader, null);
    assert_eq!(said, "it has failed before");

    let good = Float32Array::from(vec![1.0, 2.0, 3.0]);
    let arrays = [good.clone(), Float32Array::from(vec![Some(4.0), None]), good.clone(), good.clone()];
    let mut reader = thalweg_arrow::source::arrays::<f32, _>(&arrays).0;
    let said = fails_again(&mut reader, "1 of the 2 values of the array is null");
    assert_eq!(said, "it has failed before");

    let batch = |array: &Float32Array| RecordBatch::try_from_iter([("x", Arc::new(array.clone()) as _)]);
    let broken = || Err(ArrowError::ParseError("a line is no number".to_owned()));
    let mut reader = thalweg_arrow::source::arrow::<f32, _>([batch(&good), broken(), batch(&good)], "x").0;
    let said = fails_again(&mut reader, "Parser error: a line is no number");
    assert_eq!(said, "it has failed before");

    // A panic is a failure too.
    let mut calls = 0;
    let panics = std::iter::from_fn(|| {
        calls += 1;
        assert!(calls != 2, "the reader");
        (calls < 5).then(|| good.clone())
    });
    let mut reader = thalweg_arrow::source::arrays::<f32, _>(panics).0;
    let said = fails_again(&mut reader, "it panicked: the reader");
    assert_eq!(said, "it has failed before");
}

/// The integers of decimals are not their values, in each direction.
#[test]
fn decimals_are_no_integers() {
    let said = "the array holds `Decimal64(5, 2)`, whose integers are not its values";
    let cents = PrimitiveArray::<Decimal64Type>::from(vec![150, 275])
        .with_precision_and_scale(5, 2)
        .expect("a scale");
    let error = thalweg_arrow::source::values(&cents).expect_err("it is 1.50 and 2.75");
    assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::InvalidData, said));
    let none = PrimitiveArray::<Decimal128Type>::from(Vec::<i128>::new());
    thalweg_arrow::source::values(&none).expect_err("it is refused whatever its length");

    let each = thalweg_arrow::sink::arrays(|_: PrimitiveArray<Decimal64Type>| Ok(()));
    let (kind, said, chunk) = refuses(5, &[1_i64, 2], each);
    assert_eq!((kind, chunk), (io::ErrorKind::InvalidData, Some(0)));
    assert!(said.ends_with("whose integers are not its values"), "{said}");
    let each = thalweg_arrow::sink::arrays(|_: PrimitiveArray<Decimal32Type>| Ok(()));
    assert_eq!(refuses(5, &[1_i32, 2], each).0, io::ErrorKind::InvalidData);
}

/// Two columns of one name: neither is taken for the other.
#[test]
fn a_name_of_two_columns_is_refused() {
    let columns: [ArrayRef; 2] = [1.0, 2.0].map(|x| Arc::new(Float32Array::from(vec![x; 3])) as ArrayRef);
    let field = || Field::new("x", DataType::Float32, false);
    let schema = Arc::new(Schema::new(vec![field(), field()]));
    let batch = RecordBatch::try_new(schema, columns.to_vec()).expect("a batch");
    let (said, chunk) = refused::<f32>(2, thalweg_arrow::source::arrow([batch], "x"));
    assert_eq!((said.as_str(), chunk), ("there are 2 columns `x`", 0));

    let twice = "message m { required float x; required float x; }";
    let written = file::<FloatType>(twice, &[&[1.0; 3], &[2.0; 3]], WriterProperties::default());
    let (said, chunk) = refused::<f32>(2, thalweg_parquet::source::parquet(written, "x"));
    assert_eq!((said.as_str(), chunk), ("there are 2 columns `x`", 0));
    // A dot may be part of a name, and may stand between a group and its column.
    let dotted = "message m { required int32 p.x; required group p { required int32 x; } }";
    let written = file::<Int32Type>(dotted, &[&[1; 3], &[2; 3]], WriterProperties::default());
    let (said, _) = refused::<i32>(2, thalweg_parquet::source::parquet(written, "p.x"));
    assert_eq!(said, "there are 2 columns `p.x`");
}

/// An error keeps its kind on its way through Arrow's readers.
#[test]
fn errors_of_readers_keep_their_kinds() {
    let kind = |error: Error| {
        let ErrorKind::Source(source) = error.kind() else { panic!("{error}") };
        source.error().expect("the reader's").kind()
    };
    let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, "the file is cut");
    let batches = [Err::<RecordBatch, _>(cut())];
    let error = taken::<f32>(2, thalweg_arrow::source::arrow(batches, "x")).expect_err("no batch");
    assert_eq!(kind(error), io::ErrorKind::UnexpectedEof);
    let batches = [Err::<RecordBatch, _>(ArrowError::IoError("cut".to_owned(), cut()))];
    let error = taken::<f32>(2, thalweg_arrow::source::arrow(batches, "x")).expect_err("no batch");
    assert!(error.to_string().contains("cut"), "{error}");
    assert_eq!(kind(error), io::ErrorKind::UnexpectedEof);
}

/// A disk on which one write of each kind fails halfway, once.
struct Once {
    file: io::Cursor<Vec<u8>>,
    /// Writes and flushes until then.
    left: usize,
    panics: bool,
}

impl Once {
    fn fails(&mut self) -> bool {
        let fails = self.left == 0;
        self.left = self.left.wrapping_sub(1);
        assert!(!fails || !self.panics, "the disk");
        fails
    }
}

impl Write for Once {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.fails() {
            self.file.write_all(&bytes[..bytes.len() / 2])?;
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.fails() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
}

impl Seek for Once {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// A run into a writer of which an earlier run has failed: nothing looks like a file that it is not.
#[test]
fn a_writer_that_has_failed_takes_nothing_more() {
    let x: Vec<f32> = (0..30).map(|i| i as f32).collect();
    let data = || source::batches([&x]);
    let properties = || WriterProperties::builder().set_max_row_group_row_count(Some(8)).build();
    for (left, panics) in (0..1000).flat_map(|left| [(left, false), (left, true)]) {
        let new = || Once { file: io::Cursor::default(), left, panics };
        let mut disk = new();
        let mut writer = sink::npy(&mut disk).0;
        let npy = through(7, data(), Streamed(&mut writer)).is_err();
        if npy {
            let error = through(7, data(), Streamed(&mut writer)).expect_err("it has failed");
            assert!(
                error.to_string().starts_with("sink `z` failed: it has failed before"),
                "{left}: {error}"
            );
            drop(writer);
            let left_behind = source::npy_slice::<f32>(disk.file.get_ref()).map(<[f32]>::to_vec);
            assert!(left_behind.is_err() || left_behind.is_ok_and(|found| found == x), "{left}");
        }
        let mut disk = new();
        let mut writer = thalweg_parquet::sink::parquet_with::<_, f32>(&mut disk, "z", properties()).0;
        let parquet = through(7, data(), Streamed(&mut writer)).is_err();
        if parquet {
            through(7, data(), Streamed(&mut writer)).expect_err("it has failed");
            drop(writer);
            let written = bytes::Bytes::from(disk.file.into_inner());
            let left_behind = taken::<f32>(7, thalweg_parquet::source::parquet(written, "z"));
            assert!(left_behind.is_err() || left_behind.is_ok_and(|found| found == x), "{left}");
        }
        if !npy && !parquet {
            assert!(left > 5);
            return;
        }
    }
    panic!("a thousand writes");
}

/// A `.npy` file whose reader has failed has lost its place.
#[test]
fn a_reader_of_numpy_that_has_failed_gives_nothing_more() {
    struct Flaky(io::Cursor<Vec<u8>>, usize);
    impl Read for Flaky {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.1 = self.1.wrapping_sub(1);
            if self.1 == 0 { Err(io::ErrorKind::TimedOut.into()) } else { self.0.read(bytes) }
        }
    }
    let mut failures = 0;
    for left in 1..20 {
        let flaky = Flaky(io::Cursor::new(super::bytes("f4.npy")), left);
        let mut reader = source::npy(flaky).0;
        if taken::<f32>(2, Streamed(&mut reader)).is_err() {
            assert_eq!(refused::<f32>(2, Streamed(&mut reader)).0, "it has failed before");
            failures += 1;
        }
    }
    assert!(failures > 5, "{failures}");
}
