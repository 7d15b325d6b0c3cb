//! Parquet files, as pyarrow and the crate `parquet` write them, and back.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::Int32Type;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;
use thalweg::__private::Detail;
use thalweg::half::f16;
use thalweg::io::Streamed;
use thalweg::prelude::*;
use thalweg_parquet::{Scalar, sink, source};

use super::{CHUNKS, Number, Small, for_each_number, opened, refused, refuses, taken, through};

/// A file of its own, which is removed when it is closed.
fn whole(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("it is written");
    file
}

fn written<T: Scalar + Sync>(len: usize, x: &[T], properties: WriterProperties) -> Vec<u8> {
    let mut file = Vec::new();
    through(len, thalweg::io::source::batches([x]), sink::parquet_with(&mut file, "z", properties))
        .expect("a file");
    file
}

fn groups_of(rows: usize) -> WriterProperties {
    WriterProperties::builder().set_max_row_group_row_count(Some(rows)).build()
}

#[test]
fn every_type_as_pyarrow_writes_it() {
    fn check<T: Number>() {
        let name = T::PYARROW;
        let file = if ["int64", "uint8", "uint16", "uint32", "uint64"].contains(&name) {
            "integers"
        } else {
            "numbers"
        };
        for len in CHUNKS {
            let x = source::parquet(opened(&format!("{file}.parquet")), name);
            assert_eq!(taken::<T>(len, x).expect(name), T::expected());
        }
    }
    for_each_number!(check);
}

/// The way goes through our own files with row groups, pages and chunks that divide nothing.
#[test]
fn every_type_both_ways() {
    fn check<T: Number + Sync>() {
        let x: Vec<T> = (0..1001).map(|i| T::of(f64::from(i * 37 % 101) - 50.0)).collect();
        for (len, rows) in [(1, 13), (5, 7), (64, 1), (1000, 300), (999, 1001), (2000, 1 << 20)] {
            let x = if len == 1 { &x[..40] } else { &x };
            let v2 = WriterProperties::builder()
                .set_max_row_group_row_count(Some(rows))
                .set_data_page_row_count_limit(11)
                .set_write_batch_size(3)
                .set_writer_version(WriterVersion::PARQUET_2_0)
                .set_compression(Compression::SNAPPY);
            for properties in [groups_of(rows), v2.build()] {
                let file = written(len, x, properties);
                let reader = SerializedFileReader::new(whole(&file)).expect("a file");
                assert_eq!(reader.num_row_groups(), x.len().div_ceil(rows));
                assert_eq!(reader.metadata().file_metadata().num_rows(), x.len() as i64);
                for len in [5, 2000] {
                    assert_eq!(taken::<T>(len, source::parquet(whole(&file), "z")).expect("it is read"), x);
                }
            }
        }
    }
    for_each_number!(check);
}

/// All bits survive, and so do the ends of the integers.
#[test]
fn every_bit() {
    fn both<T: Scalar + Sync>(x: &[T]) {
        let z = taken::<T>(5, source::parquet(whole(&written(5, x, groups_of(3))), "z")).expect("it is read");
        assert_eq!(thalweg::bytemuck::cast_slice::<T, u8>(&z), thalweg::bytemuck::cast_slice::<T, u8>(x));
    }
    both(&[i8::MIN, -1, i8::MAX]);
    both(&[u8::MIN, u8::MAX]);
    both(&[i16::MIN, -1, i16::MAX]);
    both(&[u16::MIN, u16::MAX]);
    both(&[i32::MIN, -1, i32::MAX]);
    both(&[u32::MIN, u32::MAX, 1 << 31]);
    both(&[i64::MIN, -1, i64::MAX]);
    both(&[u64::MIN, u64::MAX, 1 << 63]);
    both(&[f32::NAN, -0.0, f32::INFINITY, f32::from_bits(0xffc0_1234), f32::MIN_POSITIVE / 2.0]);
    both(&[f64::NAN, -0.0, f64::NEG_INFINITY]);
    both(&[f16::NAN, f16::NEG_ZERO]);
}

#[test]
fn nothing_and_one() {
    for x in [&[][..], &[2.5_f32]] {
        let mut file = Vec::new();
        through(5, thalweg::io::source::batches([x]), sink::parquet(&mut file, "z")).expect("a file");
        assert_eq!(taken::<f32>(5, source::parquet(whole(&file), "z")).expect("it is read"), x);
    }
    assert!(taken::<f32>(5, source::parquet(opened("empty.parquet"), "x")).expect("it is read").is_empty());
}

/// Groups, dates and times; a codec that is not supported.
#[test]
fn other_columns() {
    let odd = |column| opened_column("odd.parquet", column);
    assert_eq!(taken::<f32>(2, odd("position.y")).unwrap(), f32::expected()[..3]);
    assert_eq!(taken::<i64>(2, opened_column("odd.parquet", "time")).unwrap(), [1, 2, 3]);
    assert_eq!(taken::<i32>(2, opened_column("odd.parquet", "day")).unwrap(), [1, 2, 3]);
    assert_eq!(taken::<f32>(5, opened_column("none.parquet", "x")).unwrap(), f32::expected());
    let (said, _) = refused::<f32>(5, opened_column("zstd.parquet", "x"));
    assert!(said.contains("zstd"), "{said}");
}

fn opened_column<T: Scalar>(file: &str, column: &str) -> Streamed<source::ParquetReader<File, T>> {
    source::parquet(opened(file), column)
}

/// Columns of 32 bits that say that they have 8 or 16.
#[test]
fn numbers_that_are_too_large() {
    fn of<T: Scalar + Sync + PartialEq>(kind: &str, values: &[i32], row: usize) {
        let schema =
            parse_message_type(&format!("message m {{ required int32 x ({kind}); }}")).expect("a schema");
        let mut file = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut file, Arc::new(schema), Default::default()).expect("a file");
        let mut group = writer.next_row_group().expect("a row group");
        let mut column = group.next_column().expect("no failure").expect("a column");
        column.typed::<Int32Type>().write_batch(values, None, None).expect("memory takes it");
        column.close().expect("memory takes it");
        group.close().expect("memory takes it");
        writer.close().expect("memory takes it");
        let (said, _) = refused::<T>(5, source::parquet(whole(&file), "x"));
        let expected = format!("row {row} of column `x` holds {}, which is no `", values[row]);
        assert!(said.contains(&expected), "{said}");
    }
    of::<i8>("INT_8", &[-128, 127, 128], 2);
    of::<u8>("UINT_8", &[0, 255, 256], 2);
    of::<u8>("UINT_8", &[0, -1], 1);
    of::<i16>("INT_16", &[-32768, 32767, -32769], 2);
    of::<u16>("UINT_16", &[65536], 0);
}

#[test]
fn refusals_say_why() {
    let lists = "column `list.list.element` holds lists, not one number a row";
    for (column, expected) in [
        ("text", "column `text` holds `BYTE_ARRAY` (UTF8), not `f32`"),
        ("flag", "column `flag` holds `BOOLEAN`, not `f32`"),
        ("list.list.element", lists),
        ("decimal", "column `decimal` holds `FIXED_LEN_BYTE_ARRAY` (DECIMAL), not `f32`"),
        ("time", "column `time` holds `i64`, not `f32`"),
        ("bytes", "column `bytes` holds `FIXED_LEN_BYTE_ARRAY`, not `f32`"),
        (
            "position",
            "there is no column `position`, but `text`, `flag`, `list.list.element`, `position.x`, `position.y`, \
             `decimal`, `time`, `day`, `bytes`",
        ),
    ] {
        assert_eq!(refused::<f32>(2, opened_column("odd.parquet", column)), (expected.to_owned(), 0));
    }
    let wrong = refused::<f32>(2, opened_column("numbers.parquet", "float64")).0;
    assert_eq!(wrong, "column `float64` holds `f64`, not `f32`");
    let wrong = refused::<i32>(2, opened_column("integers.parquet", "uint32")).0;
    assert_eq!(wrong, "column `uint32` holds `u32`, not `i32`");
    // The file is known to be bad before anything is written.
    let mut z = Vec::new();
    through::<f32>(2, opened_column("numbers.parquet", "int8"), thalweg::io::sink::extend(&mut z))
        .unwrap_err();
    assert!(z.is_empty());
}

/// A null is named by its row, and what comes before its chunk is complete.
#[test]
fn nulls() {
    for (len, chunk) in [(1, 6), (2, 3), (3, 2), (7, 0), (100, 0)] {
        let mut z = Vec::new();
        let error =
            through::<f32>(len, opened_column("nulls.parquet", "x"), thalweg::io::sink::extend(&mut z))
                .unwrap_err();
        let Detail::Source { error: of, .. } = error.detail() else { panic!("{error}") };
        assert_eq!(of.to_string(), "row 6 of column `x` is null");
        assert_eq!((error.place().chunk, z.len()), (Some(chunk), chunk as usize * len));
    }
}

/// Integers of other programs: annotated in the old way, and decimals.
#[test]
fn old_annotations() {
    for (converted, expected) in [
        (ConvertedType::UINT_8, Some("u8")),
        (ConvertedType::INT_16, Some("i16")),
        (ConvertedType::DECIMAL, None),
    ] {
        let mut column = Type::primitive_type_builder("x", Physical::INT32)
            .with_repetition(Repetition::REQUIRED)
            .with_converted_type(converted);
        if converted == ConvertedType::DECIMAL {
            column = column.with_precision(5).with_scale(2);
        }
        let schema = Type::group_type_builder("s")
            .with_fields(vec![Arc::new(column.build().unwrap())])
            .build()
            .unwrap();
        let mut file = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut file, Arc::new(schema), Arc::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[7, 8], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let said = refused::<f32>(5, source::parquet(whole(&file), "x")).0;
        match expected {
            Some(name) => assert_eq!(said, format!("column `x` holds `{name}`, not `f32`")),
            None => assert_eq!(said, "column `x` holds `INT32` (DECIMAL), not `f32`"),
        }
    }
}

/// Two columns of one file are two sources.
#[test]
fn two_columns_of_one_file() {
    stream_pipeline! {
        pipeline Two {
            input x: [f32];
            input y: [f64];
            output zx: [f32];
            output zy: [f64];
            chunk c = 5;
            stage there { copy x -> dx; copy y -> dy; }
            stage back { copy dx -> zx; copy dy -> zy; }
        }
    }
    let (mut zx, mut zy) = (Vec::new(), Vec::new());
    let (x, y) = (opened_column("numbers.parquet", "float32"), opened_column("numbers.parquet", "float64"));
    let device = Device::simulated(Simulation::default());
    Two::new(&device)
        .unwrap()
        .run(x, y, thalweg::io::sink::extend(&mut zx), thalweg::io::sink::extend(&mut zy))
        .unwrap();
    assert_eq!((zx, zy), (f32::expected(), f64::expected()));
}

/// A file may be cut anywhere, or any byte changed: the result is numbers, or an error, and never a panic.
#[test]
fn damaged_files() {
    let x: Vec<f32> = (0..60).map(|i| i as f32).collect();
    let file = written(7, &x, groups_of(25));
    for cut in 0..file.len() {
        assert!(taken::<f32>(7, source::parquet(whole(&file[..cut]), "z")).is_err(), "{cut}");
    }
    assert_eq!(taken::<f32>(7, source::parquet(whole(&file), "z")).expect("it is whole"), x);
    let (mut well, mut failed) = (0, 0);
    for at in 0..file.len() {
        let mut damaged = file.clone();
        damaged[at] ^= 1 << (at % 8);
        match taken::<f32>(7, source::parquet(whole(&damaged), "z")) {
            Ok(_) => well += 1,
            Err(error) => {
                assert!(matches!(error.detail(), Detail::Source { .. }), "{error}");
                failed += 1;
            }
        }
    }
    // Numbers have no checksum, but the structure has one.
    assert!(well > 100 && failed > 20, "{well} {failed}");
}

/// A file with any byte changed (in one bit, by one, or in all bits) has as many rows as before, or is an
/// error.
#[test]
fn damaged_files_have_no_fewer_rows() {
    fn check<T: Number>(file: &[u8], column: &str, rows: usize) {
        for at in 0..file.len() {
            for to in
                [file[at] ^ (1 << (at % 8)), file[at].wrapping_add(1), file[at].wrapping_sub(1), !file[at]]
            {
                let mut damaged = file.to_vec();
                damaged[at] = to;
                if let Ok(z) = taken::<T>(7, source::parquet(whole(&damaged), column)) {
                    let from = file[at];
                    assert_eq!(z.len(), rows, "{column} of {}: byte {at} from {from} to {to}", file.len());
                }
            }
        }
    }
    let x: Vec<f32> = (0..60).map(|i| i as f32).collect();
    check::<f32>(&written(7, &x, groups_of(25)), "z", 60);
    let v2 = groups_of(25).into_builder().set_writer_version(WriterVersion::PARQUET_2_0);
    check::<f32>(&written(7, &x, v2.set_compression(Compression::SNAPPY).build()), "z", 60);
    check::<f64>(&super::bytes("numbers.parquet"), "float64", 12);
    check::<u8>(&super::bytes("integers.parquet"), "uint8", 12);
    check::<f32>(&super::bytes("none.parquet"), "x", 12);
    check::<f32>(&super::bytes("empty.parquet"), "x", 0);
}

/// A disk may have any room: there is an error, and no file that looks complete.
#[test]
fn full_disks() {
    let x: Vec<f32> = (0..40).map(|i| i as f32).collect();
    let size = written(7, &x, groups_of(10)).len();
    for room in 0..size {
        let mut small = Small::new(room);
        let (kind, said, _) = refuses(7, &x, sink::parquet_with(&mut small, "z", groups_of(10)));
        assert_eq!(kind, io::ErrorKind::StorageFull, "{said}");
        let left = small.0.into_inner();
        assert!(left.len() <= room && taken::<f32>(7, source::parquet(whole(&left), "z")).is_err());
    }
    through(7, thalweg::io::source::batches([&x]), sink::parquet_with(Small::new(size), "z", groups_of(10)))
        .expect("there is room");
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full() {
    // With many elements data go to the disk before the end, with few only at the end.
    let many = vec![1.5_f32; 5000];
    for (x, chunk) in [(&many[..], true), (&many[..5], false)] {
        let (kind, said, at) = refuses(100, x, sink::parquet_with(super::full(), "z", groups_of(3000)));
        assert_eq!((kind, at.is_some()), (io::ErrorKind::StorageFull, chunk), "{said}");
    }
}

/// A run that fails elsewhere leaves a file of the chunks that were complete.
#[test]
fn what_was_complete_stays_complete() {
    let fails = thalweg::io::source::from_fn(|c, slot: &mut [f32]| {
        slot.fill(c.index as f32);
        if c.index == 3 { Err(io::Error::other("the disk is on fire")) } else { Ok(slot.len()) }
    });
    let mut file = Vec::new();
    let error = through(5, fails, sink::parquet_with(&mut file, "z", groups_of(4))).unwrap_err();
    assert_eq!(error.complete()[0].items, 15);
    let left = taken::<f32>(5, source::parquet(whole(&file), "z")).expect("a file");
    assert_eq!(left, [[0.0; 5], [1.0; 5], [2.0; 5]].concat());
}

/// A file is closed once, and a source that could not be opened leaves others alone.
#[test]
fn what_is_over_is_over() {
    let mut file = Vec::new();
    let mut writer = sink::parquet::<_, f32>(&mut file, "z").0;
    through(5, thalweg::io::source::batches([[1.0_f32; 7]]), Streamed(&mut writer)).expect("a file");
    let (_, said, _) = refuses(5, &[1.0_f32], Streamed(&mut writer));
    assert_eq!(said, "the file is closed");
    let mut reader = source::parquet::<_, f32>(opened("numbers.parquet"), "none").0;
    refused::<f32>(5, Streamed(&mut reader));
    assert_eq!(refused::<f32>(5, Streamed(&mut reader)).0, "it has failed before");
}
