//! Parquet files that were made to mislead or to exhaust their reader, and odd ones that are well.

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::data_type::{FixedLenByteArray, FixedLenByteArrayType, FloatType, Int64Type};
use parquet::file::metadata::{
    ColumnChunkMetaData, ColumnChunkMetaDataBuilder, ParquetMetaData, ParquetMetaDataReader,
    ParquetMetaDataWriter,
};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use thalweg::half::f16;

use super::attacks::file;
use super::{refused, taken};

/// An encoding that stores the length of each value: some are not those of the column.
#[test]
fn halves_of_another_size() {
    let schema = "message m { required fixed_len_byte_array(2) x (Float16); }";
    let properties = || {
        let built = WriterProperties::builder().set_dictionary_enabled(false);
        let no_statistics = built.set_statistics_enabled(EnabledStatistics::None);
        no_statistics.set_encoding(Encoding::DELTA_BYTE_ARRAY).build()
    };
    let one = f16::ONE.to_le_bytes().to_vec();
    let values = |odd: &[u8]| -> Vec<FixedLenByteArray> {
        [&one[..], &one, odd, &one].into_iter().map(|value| value.to_vec().into()).collect()
    };
    let written = file::<FixedLenByteArrayType>(schema, &[&values(&one)], properties());
    assert_eq!(
        taken::<f16>(2, thalweg_parquet::source::parquet(written, "x")).expect("halves"),
        [f16::ONE; 4]
    );
    for odd in [&[][..], &[1, 2, 3]] {
        let written = file::<FixedLenByteArrayType>(schema, &[&values(odd)], properties());
        let (said, chunk) = refused::<f16>(2, thalweg_parquet::source::parquet(written, "x"));
        let expected = format!("row 2 of column `x` holds {} bytes, which is no `f16`", odd.len());
        assert_eq!((said, chunk), (expected, 1));
    }
}

/// A number as Thrift's compact protocol has it.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A file without rows, whose schema has one element for each of these numbers of children.
fn nested(children: &[u64]) -> bytes::Bytes {
    let mut metadata = vec![0x15, 2, 0x19, 0xfc];
    metadata.extend(varint(children.len() as u64));
    for &children in children {
        // A group's name and its children, or a column's type and name; each after it is required.
        match children {
            0 => metadata.extend([0x15, 8, 0x25, 0, 0x18, 1, b'x', 0]),
            _ => {
                metadata.extend([0x35, 0, 0x18, 1, b'g', 0x15]);
                metadata.extend(varint(2 * children));
                metadata.push(0);
            }
        }
    }
    metadata.extend([0x16, 0, 0x19, 0x0c, 0]);
    let len = (metadata.len() as u32).to_le_bytes();
    [b"PAR1", &metadata[..], &len, b"PAR1"].concat().into()
}

/// The schema of a small file may be nested as deep as the stack does not go, or say that it has room for
/// billions of columns.
#[test]
fn schemas_that_would_end_the_process() {
    let said =
        |children: &[u64]| refused::<f32>(2, thalweg_parquet::source::parquet(nested(children), "x")).0;
    let deep = |groups: usize| [&vec![1; groups][..], &[0]].concat();
    for groups in [1, 2, 50] {
        let column = ["g."].repeat(groups - 1).concat() + "x";
        let source = thalweg_parquet::source::parquet(nested(&deep(groups)), column.as_str());
        assert_eq!(taken::<f32>(2, source).expect("a file without rows"), [0.0; 0], "{groups}");
    }
    let too_deep = "its columns are nested more than 100 groups deep";
    assert_eq!([said(&deep(101)), said(&deep(100_000))], [too_deep; 2]);
    // Groups that are over do not count.
    let wide = [&[200][..], &[1, 0].repeat(200)].concat();
    assert!(said(&wide).starts_with("there is no column `x`, but `g.x`, "));
    assert_eq!(said(&[i32::MAX as u64, 0]), "its metadata are damaged");
}

/// A file of one column and one row group whose pages are replaced, with what the metadata then say of them.
fn rewritten(
    file: &bytes::Bytes,
    mut pages: Vec<u8>,
    change: impl FnOnce(ColumnChunkMetaData) -> ColumnChunkMetaDataBuilder,
) -> bytes::Bytes {
    let metadata = ParquetMetaDataReader::new().parse_and_finish(file).expect("a file");
    let group = metadata.row_group(0).clone();
    let (start, len) = group.column(0).byte_range();
    let after = file.len() - (start + len) as usize;
    pages.truncate(pages.len() - after);
    let column = change(group.column(0).clone()).build().expect("a column");
    let group = group.into_builder().set_column_metadata(vec![column]).build().expect("a row group");
    let metadata = ParquetMetaData::new(metadata.file_metadata().clone(), vec![group]);
    ParquetMetaDataWriter::new(&mut pages, &metadata).finish().expect("memory takes it");
    pages.into()
}

/// A dictionary of some bytes, which says that it has billions of values: there is no room for them.
#[test]
fn a_dictionary_that_says_it_is_huge() {
    const HUGE: u64 = i32::MAX as u64;
    let written =
        file::<FloatType>("message m { required float x; }", &[&[1.5; 9]], WriterProperties::default());
    let x = thalweg_parquet::source::parquet(written.clone(), "x");
    assert_eq!(taken::<f32>(2, x).expect("a file"), [1.5; 9]);
    // The dictionary's header: its kind, its bytes twice, and its one value.
    let at = 4 + written[4..].windows(3).position(|bytes| bytes == [0x4c, 0x15, 2]).expect("the header") + 2;
    let values = varint(2 * HUGE);
    let longer = values.len() as i64 - 1;
    let mut damaged = written.to_vec();
    damaged.splice(at..=at, values);
    let damaged = rewritten(&written, damaged, |column| {
        let (data, bytes) = (column.data_page_offset() + longer, column.compressed_size() + longer);
        column.into_builder().set_data_page_offset(data).set_total_compressed_size(bytes)
    });
    let (said, chunk) = refused::<f32>(2, thalweg_parquet::source::parquet(damaged, "x"));
    let expected = format!("a dictionary has 4 bytes, which are not {HUGE} values");
    assert_eq!((said, chunk), (expected, 0));
}

/// A file may say that its columns are in others, as `_metadata` beside the parts of a data set does: what is
/// at those positions here is something else.
#[test]
fn columns_of_another_file() {
    let written =
        file::<FloatType>("message m { required float x; }", &[&[1.5; 9]], WriterProperties::default());
    let elsewhere = rewritten(&written, written.to_vec(), |column| {
        column.into_builder().set_file_path("part-0.parquet".to_owned())
    });
    let (said, chunk) = refused::<f32>(2, thalweg_parquet::source::parquet(elsewhere, "x"));
    let expected = "row group 0 of column `x` is in another file, `part-0.parquet`";
    assert_eq!((said.as_str(), chunk), (expected, 0));
}

/// Row groups without rows, dictionaries that are given up, columns that could have nulls.
#[test]
fn empty_row_groups_and_other_encodings() {
    let value = |i: usize| (i * 7 % 5) as i64 - 2;
    let encodings = [Encoding::PLAIN, Encoding::DELTA_BINARY_PACKED, Encoding::BYTE_STREAM_SPLIT];
    let every = encodings.into_iter().flat_map(|encoding| [1, 40, 1 << 20].map(|limit| (encoding, limit)));
    for ((encoding, limit), optional) in every.flat_map(|of| [(of, false), (of, true)]) {
        let kind = if optional { "optional" } else { "required" };
        let schema = parse_message_type(&format!("message m {{ {kind} int64 x; }}")).expect("a schema");
        let built = WriterProperties::builder().set_encoding(encoding).set_dictionary_enabled(limit > 1);
        let built = built.set_dictionary_page_size_limit(limit).set_data_page_row_count_limit(6);
        let (mut file, mut rows) = (Vec::new(), 0);
        let properties = Arc::new(built.set_write_batch_size(2).build());
        let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), properties).expect("a file");
        for len in [0, 5, 0, 0, 40, 1, 0] {
            let values: Vec<i64> = (rows..rows + len).map(value).collect();
            let levels = vec![1; len];
            let mut group = writer.next_row_group().expect("a row group");
            let mut column = group.next_column().expect("no failure").expect("a column");
            let levels = optional.then_some(&levels[..]);
            column.typed::<Int64Type>().write_batch(&values, levels, None).expect("memory takes it");
            column.close().expect("memory takes it");
            group.close().expect("memory takes it");
            rows += len;
        }
        writer.close().expect("memory takes it");
        for len in [1, 3, 1000] {
            let x = thalweg_parquet::source::parquet(bytes::Bytes::from(file.clone()), "x");
            let expected: Vec<i64> = (0..rows).map(value).collect();
            assert_eq!(taken::<i64>(len, x).expect("a file"), expected, "{encoding} {limit} {kind}");
        }
    }
}
