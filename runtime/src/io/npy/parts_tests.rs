#![allow(clippy::single_range_in_vec_init, reason = "one part is a range")]

use std::io::{Cursor, ErrorKind, Read, Seek};
use std::ops::Range;

use super::shape;
use crate::base::chunk::Chunk;
use crate::io::{Scalar, Sink, Source, Streamed, sink, source};

fn chunk(index: usize, start: usize, len: usize) -> Chunk {
    Chunk { index, start, len }
}

/// Writes items in chunks of so many.
fn write<T: Scalar>(
    sink: &mut impl Sink<T>,
    data: &[T],
    per_item: usize,
    items: usize,
) -> std::io::Result<()> {
    for (index, part) in data.chunks(items * per_item).enumerate() {
        sink.write(chunk(index, index * items, part.len() / per_item), part)?;
    }
    sink.finish()
}

/// The file of one rank.
fn whole<T: Scalar>(data: &[T], item: &[usize]) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    write(&mut sink::npy_items(&mut file, item).0, data, 1, 5).unwrap();
    file.into_inner()
}

/// Reads all items of parts in chunks of so many.
fn read<T: Scalar>(
    file: &[u8],
    parts: &[Range<usize>],
    per_item: usize,
    items: usize,
) -> Result<Vec<T>, (ErrorKind, String)> {
    let Streamed(mut source) = source::npy_parts(Cursor::new(file), parts.to_vec());
    let mut all = Vec::new();
    for index in 0.. {
        let mut slot = vec![T::zeroed(); items * per_item];
        let filled = source.read(chunk(index, index * items, items), &mut slot);
        let filled = filled.map_err(|error| (error.kind(), error.to_string()))?;
        all.extend_from_slice(&slot[..filled]);
        if filled < slot.len() {
            break;
        }
    }
    Ok(all)
}

#[test]
fn parts_of_an_array() {
    let x: Vec<f32> = (0..24).map(|x| x as f32).collect();
    let file = whole(&x, &[2, 2]);
    for items in [1, 2, 3, 100] {
        // Rows, halves of rows, elements.
        for per_item in [4, 2, 1] {
            let all = 24 / per_item;
            assert_eq!(read::<f32>(&file, &[0..all], per_item, items).unwrap(), x);
            let turned = read::<f32>(&file, &[all - 1..all, 0..0, 0..1], per_item, items).unwrap();
            assert_eq!(turned, [&x[24 - per_item..], &x[..per_item]].concat());
            let (kind, said) = read::<f32>(&file, &[0..all + 1], per_item, items).unwrap_err();
            let expected = format!("part 0..{} is not in the array, which has {all} items", all + 1);
            assert_eq!((kind, said), (ErrorKind::UnexpectedEof, expected));
        }
    }
    let (kind, said) = read::<f32>(&file, &[0..1], 5, 2).unwrap_err();
    assert_eq!(kind, ErrorKind::InvalidData);
    assert_eq!(said, "its 24 elements are no whole number of items of 5 elements");
    let (kind, said) = read::<f64>(&file, &[0..1], 4, 2).unwrap_err();
    assert_eq!(kind, ErrorKind::InvalidData);
    assert_eq!(said, "its elements are `f32` (`<f4`), not `f64`");
}

/// The header promises more than the file has, and more than any file has.
#[test]
fn arrays_that_are_too_short() {
    let x: Vec<f32> = (0..6).map(|x| x as f32).collect();
    let file = whole(&x, &[2]);
    for cut in 128..file.len() {
        let ended = format!("it ended before the end of item {}, in part 0..3", (cut - 128) / 8);
        assert_eq!(read::<f32>(&file[..cut], &[0..3], 2, 4).unwrap_err(), (ErrorKind::UnexpectedEof, ended));
        let before = (cut - 128) / 8;
        assert_eq!(read::<f32>(&file[..cut], &[0..before], 2, 4).unwrap(), x[..2 * before]);
    }
    for cut in 0..128 {
        assert_eq!(read::<f32>(&file[..cut], &[0..3], 2, 4).unwrap_err().0, ErrorKind::UnexpectedEof);
    }
    // The bytes of the array can be counted, but not those of the header before them.
    let long = super::header::written::<u8>(u64::MAX, &[]);
    let (kind, said) = read::<u8>(&long, &[0..1], 1, 2).unwrap_err();
    assert_eq!((kind, &said[..]), (ErrorKind::InvalidData, "its shape is larger than any file"));
    let long = super::header::written::<u8>(u64::MAX - 200, &[]);
    let end = usize::MAX - 200;
    let (kind, said) = read::<u8>(&long, &[end - 1..end], 1, 2).unwrap_err();
    let expected = format!("it ended before the end of item {}, in part {}..{end}", end - 1, end - 1);
    assert_eq!((kind, said), (ErrorKind::UnexpectedEof, expected));
    assert_eq!(read::<u8>(&long, &[0..usize::MAX], 1, 2).unwrap_err().0, ErrorKind::UnexpectedEof);
}

#[test]
fn an_array_within_a_file() {
    let file = [b"before".to_vec(), whole(&[1_i16, 2, 3], &[]), b"behind".to_vec()].concat();
    let mut file = Cursor::new(file);
    file.set_position(6);
    assert_eq!(shape(&mut file).unwrap(), [3]);
    assert_eq!(file.position(), 6);
    let Streamed(mut source) = source::npy_parts(&mut file, [2..3, 0..1]);
    assert_eq!(Source::<i16>::elements(&mut source, 1).unwrap(), Some(2));
    let mut slot = [0_i16; 3];
    assert_eq!(source.read(chunk(0, 0, 3), &mut slot).unwrap(), 2);
    assert_eq!(slot[..2], [3, 1]);
}

#[test]
fn shapes() {
    let of = |bytes: Vec<u8>| shape(&mut Cursor::new(bytes)).map_err(|error| error.to_string());
    assert_eq!(of(whole(&[1_u8; 24], &[3, 4])), Ok(vec![2, 3, 4]));
    assert_eq!(of(whole::<u8>(&[], &[])), Ok(vec![0]));
    let header = |text: &str| {
        let length = (text.len() as u16).to_le_bytes();
        [&b"\x93NUMPY\x01\x00"[..], &length, text.as_bytes()].concat()
    };
    assert_eq!(of(header("{'descr': '<c8', 'fortran_order': True, 'shape': (2, 3)}")), Ok(vec![2, 3]));
    assert_eq!(of(header("{'descr': '<f4', 'fortran_order': False, 'shape': ()}")), Ok(vec![]));
    let records = of(header("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}"));
    assert_eq!(records, Err("its elements are records, which no pipeline reads".to_owned()));
    assert_eq!(of(header("{}")), Err("its header is not that of a `.npy` file".to_owned()));
    assert_eq!(of(b"short".to_vec()), Err("it ended within the header of a `.npy` file".to_owned()));
}

/// Any number of parts, in any order, make the file that one rank writes.
#[test]
fn parts_make_the_file_of_one_rank() {
    for (rows, item) in [(0, &[][..]), (1, &[]), (5, &[2, 3]), (7, &[]), (4, &[1; 40])] {
        let per_row = item.iter().product::<usize>();
        let data: Vec<i32> = (0..(rows * per_row) as i32).collect();
        let expected = whole(&data, item);
        let shape = [&[rows][..], item].concat();
        for per_item in [per_row, 1] {
            let all = data.len() / per_item;
            for parts in [&[all][..], &[0, all], &[1, all], &[all / 3, all / 2, all], &[0, 0, all, all]] {
                let begins = [0].into_iter().chain(parts.iter().copied());
                let parts =
                    begins.zip(parts.iter().copied()).map(|(start, end)| start.min(all)..end.min(all));
                let parts: Vec<Range<usize>> = parts.collect();
                for backwards in [false, true] {
                    let mut file = Cursor::new(Vec::new());
                    let mut one = |part: &Range<usize>| {
                        file.rewind().unwrap();
                        let own = &data[part.start * per_item..part.end * per_item];
                        let mut sink = sink::npy_part(&mut file, &shape, part.clone()).0;
                        write(&mut sink, own, per_item, 2).unwrap();
                    };
                    if backwards {
                        parts.iter().rev().for_each(&mut one)
                    } else {
                        parts.iter().for_each(&mut one)
                    }
                    assert_eq!(file.into_inner(), expected, "{parts:?} of {shape:?}");
                }
            }
        }
    }
}

/// As long as the first part is not complete, no program takes the file for an array.
#[test]
fn an_unfinished_file_is_none() {
    let mut file = Cursor::new(whole(&[1_u8, 2, 3], &[]));
    let mut first = sink::npy_part(&mut file, &[3], 0..3).0;
    first.write(chunk(0, 0, 2), &[7_u8, 8]).unwrap();
    assert_eq!(
        Sink::<u8>::finish(&mut first).unwrap_err().to_string(),
        "part 0..3 has 3 items, but the run had 2 of them"
    );
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    assert_eq!(&bytes[128..], [7, 8, 3]);
    let (_, said) = read::<u8>(&bytes, &[0..1], 1, 1).unwrap_err();
    assert_eq!(said, "it is no `.npy` file, or one that was not finished");
}

#[test]
#[allow(clippy::reversed_empty_ranges, reason = "it is refused")]
fn parts_that_are_not_in_the_array() {
    let refused = |shape: &[usize], part, data: &[u16], per_item| {
        let mut file = Cursor::new(Vec::new());
        let error = write(&mut sink::npy_part(&mut file, shape, part).0, data, per_item, 2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(!file.into_inner().starts_with(b"\x93NUMPY"), "there is no header");
        error.to_string()
    };
    let max = usize::MAX;
    for (shape, part, data, per_item, expected) in [
        (&[3][..], 2..4, 2, 1, "part 2..4 is not in an array of the shape [3], which has 3 items"),
        (&[3, 2], 0..4, 2, 2, "part 0..4 is not in an array of the shape [3, 2], which has 3 items"),
        (&[0, 2], 0..1, 2, 2, "part 0..1 is not in an array of the shape [0, 2], which has 0 items"),
        (&[3], 0..1, 2, 2, "an array of the shape [3] is no whole number of items of 2 elements"),
        (&[], 0..1, 1, 1, "the array has no dimension, so it has no parts"),
        (&[], 0..0, 0, 1, "the array has no dimension, so it has no parts"),
        (&[3], 2..1, 1, 1, "part 2..1 ends before it begins"),
        (&[3], 0..1, 2, 1, "part 0..1 has 1 item, and the run has 1 more"),
        (&[3], 0..1, 0, 1, "part 0..1 has 1 item, but the run had 0 of them"),
        (&[3], 1..3, 1, 1, "part 1..3 has 2 items, but the run had 1 of them"),
        (&[max, 2], 0..1, 1, 1, "an array of the shape [18446744073709551615, 2] has too many elements"),
        (
            &[max],
            max - 1..max,
            1,
            1,
            "part 18446744073709551614..18446744073709551615 lies beyond the end of any file",
        ),
        (
            &[3],
            0..max,
            1,
            1,
            "part 0..18446744073709551615 is not in an array of the shape [3], which has 3 items",
        ),
    ] {
        assert_eq!(refused(shape, part, &vec![7; data], per_item), expected);
    }
}
