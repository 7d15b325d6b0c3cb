#![allow(clippy::single_range_in_vec_init, reason = "one part is a range")]

use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use bytemuck::Pod;

use crate::base::chunk::Chunk;
use crate::io::{Sink, Source, sink, source};

/// Reads chunks of so many items until the source ends.
fn chunks<T: Pod>(source: &mut impl Source<T>, items: usize, per_item: usize) -> io::Result<Vec<Vec<T>>> {
    let (mut all, mut start) = (Vec::new(), 0);
    loop {
        let mut slot = vec![T::zeroed(); items * per_item];
        let filled = source.read(Chunk { index: all.len(), start, len: items }, &mut slot)?;
        slot.truncate(filled);
        if filled > 0 {
            all.push(slot);
        }
        if filled < items * per_item {
            return Ok(all);
        }
        start += items;
    }
}

/// All items of parts of a file, whatever the length of chunks.
fn read(file: &[u16], parts: &[Range<usize>], per_item: usize) -> io::Result<Vec<u16>> {
    let read = |items: usize| {
        let file = Cursor::new(bytemuck::cast_slice::<u16, u8>(file));
        let mut source = source::read_parts(file, parts.iter().cloned()).0;
        let len = Source::<u16>::elements(&mut source, per_item)?;
        let all = chunks(&mut source, items, per_item)?.concat();
        assert_eq!(len, Some(all.len()));
        assert_eq!(Source::<u16>::elements(&mut source, per_item)?, Some(0));
        Ok::<_, io::Error>(all)
    };
    let all = read(1)?;
    for items in [2, 3, 4, 7, 100] {
        assert_eq!(read(items)?, all, "chunks of {items}");
    }
    Ok(all)
}

#[test]
fn parts_come_in_their_order() {
    let file: Vec<u16> = (0..20).collect();
    assert_eq!(read(&file, &[], 1).unwrap(), []);
    assert_eq!(read(&[], &[0..0], 1).unwrap(), []);
    assert_eq!(read(&[7], &[0..1], 1).unwrap(), [7]);
    assert_eq!(read(&file, &[0..20], 1).unwrap(), file);
    assert_eq!(read(&file, &[3..3, 20..20, 5..8, 0..0], 1).unwrap(), [5, 6, 7]);
    assert_eq!(read(&file, &[18..20, 0..1, 1..3, 1..2], 1).unwrap(), [18, 19, 0, 1, 2, 1]);
    assert_eq!(read(&file, &[4..5, 0..1], 4).unwrap(), [16, 17, 18, 19, 0, 1, 2, 3]);
    // The numbers backwards, each as a part.
    let each: Vec<_> = (0..20).rev().map(|item| item..item + 1).collect();
    assert_eq!(read(&file, &each, 1).unwrap(), (0..20).rev().collect::<Vec<_>>());
}

fn error<T: Pod + std::fmt::Debug>(
    source: &mut impl Source<T>,
    items: usize,
    per_item: usize,
) -> (ErrorKind, String) {
    let error = chunks(source, items, per_item).unwrap_err();
    let again = chunks(source, items, per_item).unwrap_err();
    assert_eq!(again.to_string(), "it has failed before");
    (error.kind(), error.to_string())
}

/// Ranges that are none.
#[allow(clippy::reversed_empty_ranges, reason = "they are refused")]
const BACKWARDS: [Range<usize>; 2] = [3..2, usize::MAX..0];

#[test]
fn parts_that_are_not_in_the_file() {
    let short = |parts: &[Range<usize>], bytes: usize| {
        let file = Cursor::new(vec![0; bytes]);
        error::<u32>(&mut source::read_parts(file, parts.to_vec()).0, 2, 2)
    };
    for (part, bytes, expected) in [
        (0..1, 0, "part 0..1 is not in the file, which has 0 items"),
        (0..2, 8, "part 0..2 is not in the file, which has 1 item"),
        (2..3, 16, "part 2..3 is not in the file, which has 2 items"),
        (0..1, 7, "part 0..1 is not in the file, which has 0 items and 7 bytes of another one"),
        (1..3, 23, "part 1..3 is not in the file, which has 2 items and 7 bytes of another one"),
        (0..usize::MAX, 8, "part 0..18446744073709551615 is not in the file, which has 1 item"),
        (
            usize::MAX - 1..usize::MAX,
            8,
            "part 18446744073709551614..18446744073709551615 is not in the file, which has 1 item",
        ),
    ] {
        assert_eq!(short(&[part], bytes), (ErrorKind::UnexpectedEof, expected.to_owned()));
    }
    for part in BACKWARDS {
        let expected = format!("part {}..{} ends before it begins", part.start, part.end);
        assert_eq!(short(&[0..1, part], 16), (ErrorKind::InvalidInput, expected));
    }
    // What is before them is whole, in whole chunks.
    let mut parts = source::read_parts(Cursor::new([1_u8, 2, 3, 4]), [0..2, 3..5]).0;
    let mut slot = [0_u8; 2];
    assert_eq!(parts.read(Chunk { index: 0, start: 0, len: 2 }, &mut slot).unwrap(), 2);
    assert_eq!(slot, [1, 2]);
    assert_eq!(error::<u8>(&mut parts, 2, 1).1, "part 3..5 is not in the file, which has 4 items");
}

#[test]
fn the_length_of_parts() {
    let elements = |parts: &[Range<usize>], per_item| {
        let mut source = source::read_parts(Cursor::new([0; 8]), parts.to_vec()).0;
        Source::<u32>::elements(&mut source, per_item).map_err(|error| error.to_string())
    };
    let too_many = Err("its parts have more elements than can be counted".to_owned());
    assert_eq!(elements(&[], 5), Ok(Some(0)));
    assert_eq!(elements(&[0..3, 7..8], 5), Ok(Some(20)));
    assert_eq!(elements(&[0..usize::MAX], 1), Ok(Some(usize::MAX)));
    assert_eq!(elements(&[0..usize::MAX, 0..1], 1), too_many);
    assert_eq!(elements(&[0..usize::MAX], 2), too_many);
    for part in BACKWARDS {
        let said = format!("part {}..{} ends before it begins", part.start, part.end);
        assert_eq!(elements(&[0..1, part], 1), Err(said));
    }
}

/// A file that counts how often it is asked to seek, and ends early.
struct Shrinks<'s> {
    data: Cursor<Vec<u8>>,
    len: u64,
    seeks: &'s mut Vec<u64>,
}

impl Read for Shrinks<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        // A part at a time, as a pipe does, and now and then nothing yet.
        let len = bytes.len().min(3);
        self.data.read(&mut bytes[..len])
    }
}

impl Seek for Shrinks<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::End(0) => {
                self.data.set_position(self.len);
                Ok(self.len)
            }
            SeekFrom::Current(0) => Ok(self.data.position()),
            SeekFrom::Start(at) => {
                self.seeks.push(at);
                self.data.set_position(at);
                Ok(at)
            }
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }
}

#[test]
fn neighbours_need_no_seek() {
    let mut seeks = Vec::new();
    let data = Cursor::new((0..40).collect());
    let file = Shrinks { data, len: 40, seeks: &mut seeks };
    let mut parts = source::read_parts(file, [1..3, 3..3, 3..5, 9..10, 9..9, 0..1, 1..2]).0;
    let all = chunks::<u16>(&mut parts, 3, 2).unwrap().concat();
    let items = [1, 2, 3, 4, 9, 0, 1].map(|item: u8| [0, 1, 2, 3].map(|byte| 4 * item + byte));
    assert_eq!(bytemuck::cast_slice::<u16, u8>(&all), items.as_flattened());
    assert_eq!(seeks, [4, 36, 0]);
}

/// What was there when the source began, and is not any more.
#[test]
fn a_file_that_shrinks() {
    for (len, item) in [(0, 4), (16, 4), (19, 4), (20, 5), (23, 5)] {
        let mut seeks = Vec::new();
        let file = Shrinks { data: Cursor::new(vec![0; len]), len: 40, seeks: &mut seeks };
        let expected = format!("it ended before the end of item {item}, in part 4..9");
        let mut parts = source::read_parts(file, [4..9]).0;
        assert_eq!(error::<u16>(&mut parts, 4, 2), (ErrorKind::UnexpectedEof, expected), "{len}");
    }
}

/// Item 0 is where the file stands.
#[test]
fn headers_of_ones_own() {
    let mut file = Cursor::new(b"header".to_vec());
    file.set_position(6);
    write::<u8>(&mut sink::write_part(&mut file, 2..4).0, &[&[3, 4]], 1).unwrap();
    file.set_position(6);
    write::<u8>(&mut sink::write_part(&mut file, 0..2).0, &[&[1, 2]], 1).unwrap();
    assert_eq!(file.get_ref(), b"header\x01\x02\x03\x04");
    file.set_position(6);
    let mut parts = source::read_parts(file, [3..4, 0..1]).0;
    assert_eq!(chunks::<u8>(&mut parts, 5, 1).unwrap(), [[4, 1]]);
}

#[test]
fn elements_that_are_no_items() {
    let by_chunk = "it has elements for each chunk, and a part is a range of items";
    let read = |chunks: &[(usize, usize)]| {
        let mut parts = source::read_parts(Cursor::new([0; 64]), [0..8]).0;
        let mut read = |&(len, elements): &(usize, usize)| {
            parts.read(Chunk { index: 0, start: 0, len }, &mut vec![0_u8; elements])
        };
        chunks.iter().map(&mut read).collect::<io::Result<Vec<_>>>().map_err(|error| error.to_string())
    };
    assert_eq!(read(&[(4, 7)]), Err(by_chunk.to_owned()));
    assert_eq!(read(&[(0, 7)]), Err(by_chunk.to_owned()));
    assert_eq!(read(&[(4, 8), (3, 8)]), Err(by_chunk.to_owned()));
    assert_eq!(read(&[(4, 0), (4, 8), (2, 4)]), Ok(vec![0, 8, 4]));
    let mut nothing = source::read_parts(Cursor::new([0; 64]), [0..8]).0;
    assert_eq!(error::<[u8; 0]>(&mut nothing, 2, 1).1, "elements of no bytes cannot be read");

    let mut file = Cursor::new(Vec::new());
    let mut part = sink::write_part(&mut file, 0..8).0;
    assert_eq!(write::<u8>(&mut part, &[&[0; 7]], 2).unwrap_err().to_string(), by_chunk);
}

/// Writes chunks of so many elements an item, and the end.
fn write<T: Pod>(sink: &mut impl Sink<T>, chunks: &[&[T]], per_item: usize) -> io::Result<()> {
    let mut start = 0;
    for (index, data) in chunks.iter().enumerate() {
        let len = data.len() / per_item;
        sink.write(Chunk { index, start, len }, data)?;
        start += len;
    }
    sink.finish()
}

fn written(part: Range<usize>, chunks: &[&[u16]], per_item: usize) -> (io::Result<()>, Vec<u8>) {
    let mut file = Cursor::new(vec![0xee; 8]);
    let result = write(&mut sink::write_part(&mut file, part).0, chunks, per_item);
    (result, file.into_inner())
}

#[test]
fn parts_are_written_at_their_places() {
    let bytes = |part, chunks: &[&[u16]], per_item| {
        let (result, file) = written(part, chunks, per_item);
        result.unwrap();
        file
    };
    let ff = 0xffff;
    assert_eq!(bytes(0..0, &[], 1), [0xee; 8]);
    assert_eq!(bytes(9..9, &[], 1), [0xee; 8], "an empty part does not make the file longer");
    assert_eq!(bytes(0..1, &[&[ff]], 1), [0xff, 0xff, 0xee, 0xee, 0xee, 0xee, 0xee, 0xee]);
    assert_eq!(bytes(1..3, &[&[ff], &[ff]], 1), [0xee, 0xee, 0xff, 0xff, 0xff, 0xff, 0xee, 0xee]);
    assert_eq!(bytes(1..2, &[&[ff, ff]], 2), [0xee, 0xee, 0xee, 0xee, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(bytes(4..5, &[&[ff]], 1), [&[0xee; 8][..], &[0xff; 2]].concat());
}

#[test]
fn a_part_has_exactly_its_items() {
    let refused = |part, chunks: &[&[u16]], per_item| {
        let (result, file) = written(part, chunks, per_item);
        (result.unwrap_err().to_string(), file)
    };
    let (said, file) = refused(0..2, &[&[0; 2], &[0; 1]], 1);
    assert_eq!(said, "part 0..2 has 2 items, and the run has 1 more");
    assert_eq!(file[4..], [0xee; 4], "nothing is written beyond the part");
    let (said, file) = refused(1..2, &[&[0; 2]], 1);
    assert_eq!((&said[..], file), ("part 1..2 has 1 item, and the run has 1 more", vec![0xee; 8]));
    let (said, file) = refused(2..2, &[&[0; 6]], 2);
    assert_eq!((&said[..], file), ("part 2..2 has 0 items, and the run has 3 more", vec![0xee; 8]));
    assert_eq!(refused(0..1, &[], 1).0, "part 0..1 has 1 item, but the run had 0 of them");
    assert_eq!(refused(4..7, &[&[0; 2]], 1).0, "part 4..7 has 3 items, but the run had 2 of them");
    for part in BACKWARDS {
        let expected = format!("part {}..{} ends before it begins", part.start, part.end);
        for chunks in [&[][..], &[&[0][..]]] {
            assert_eq!(refused(part.clone(), chunks, 1), (expected.clone(), vec![0xee; 8]));
        }
    }
}

/// Nothing is written at places that no file has.
#[test]
fn parts_beyond_all_files() {
    let max = usize::MAX;
    for (part, per_item) in [(max - 1..max, 1), (0..max, 1), (max / 2..max / 2 + 1, 1), (max / 8..max / 4, 4)]
    {
        let (result, file) = written(part.clone(), &[&vec![0; per_item]], per_item);
        let expected = format!("part {}..{} lies beyond the end of any file", part.start, part.end);
        assert_eq!((result.unwrap_err().to_string(), file), (expected, vec![0xee; 8]));
    }
    // Elements without bytes have no places.
    let mut file = Cursor::new(Vec::new());
    write::<[u8; 0]>(&mut sink::write_part(&mut file, max - 2..max).0, &[&[[]; 2]], 1).unwrap();
    assert!(file.into_inner().is_empty());
}

#[test]
fn a_part_is_written_anew() {
    let mut file = Cursor::new(vec![0; 3]);
    let mut part = sink::write_part(&mut file, 1..3).0;
    write::<u8>(&mut part, &[&[1], &[2]], 1).unwrap();
    write::<u8>(&mut part, &[&[3, 4]], 1).unwrap();
    assert_eq!(file.into_inner(), [0, 3, 4]);
    // After a failure it has lost its place.
    let mut part = sink::write_part(Cursor::new(Vec::new()), 0..1).0;
    assert!(write::<u8>(&mut part, &[&[0; 2]], 1).is_err());
    assert_eq!(write::<u8>(&mut part, &[&[0]], 1).unwrap_err().to_string(), "it has failed before");
}

#[test]
fn a_file_that_is_open_for_appending() {
    let path = std::env::temp_dir().join(format!("thalweg-appended-{}", std::process::id()));
    File::create(&path).and_then(|mut file| file.write_all(&[1, 2, 3])).unwrap();
    let appending = File::options().append(true).open(&path).unwrap();
    let said = write::<u8>(&mut sink::write_part(appending, 1..2).0, &[&[9]], 1).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(said.to_string().contains("open for appending"), "{said}");
}
