//! `.npy` files, byte by byte as NumPy writes them.

use std::io::{self, Cursor, Write};

use thalweg::__private::Detail;
use thalweg::half::f16;
use thalweg::io::{Scalar, Streamed};
use thalweg::prelude::*;

use super::{CHUNKS, Number, Small, bytes, for_each_number, opened, refused, refuses, taken, through};

/// A file with this header, of a version, and these bytes of data.
fn file(version: u8, header: &str, data: usize) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    let length = (header.len() as u32).to_le_bytes();
    file.extend(&length[..if version == 1 { 2 } else { 4 }]);
    file.extend(header.as_bytes());
    file.resize(file.len() + data, 0);
    file
}

fn written<T: Scalar + Sync>(len: usize, data: &[T], shape: &[usize]) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    through(len, source::batches([data]), sink::npy_items(&mut file, shape)).expect("a file");
    file.into_inner()
}

#[test]
fn every_type_as_numpy_writes_it() {
    fn check<T: Number>() {
        let name = format!("{}.npy", T::NUMPY);
        for len in CHUNKS {
            assert_eq!(taken::<T>(len, source::npy(opened(&name))).expect(&name), T::expected());
            assert_eq!(written(len, &T::expected(), &[]), bytes(&name), "{name}");
        }
        assert_eq!(source::npy_slice::<T>(&aligned(&bytes(&name))).expect(&name), T::expected());
    }
    for_each_number!(check);
}

/// The data begin at a page's start, as in a mapped file.
fn aligned(file: &[u8]) -> memmap2::MmapMut {
    let mut map = memmap2::MmapMut::map_anon(file.len().max(1)).expect("memory");
    map[..file.len()].copy_from_slice(file);
    map
}

#[test]
fn every_shape_and_version() {
    let x = f32::expected();
    for (name, expected) in [
        ("shape_3_4", &x[..]),
        ("shape_2_3_2", &x),
        ("version_2", &x),
        ("version_3", &x),
        ("fortran_column", &x),
        ("scalar", &[2.5]),
        ("empty", &[]),
        ("empty_3_0", &[]),
    ] {
        let name = &format!("{name}.npy");
        assert_eq!(taken::<f32>(5, source::npy(opened(name))).expect(name), expected);
        assert_eq!(source::npy_slice::<f32>(&aligned(&bytes(name))).expect(name), expected);
    }
    assert_eq!(written(7, &x, &[4]), bytes("shape_3_4.npy"));
    assert_eq!(written(5, &x, &[3, 2]), bytes("shape_2_3_2.npy"));
    assert_eq!(written::<f32>(5, &[], &[]), bytes("empty.npy"));
    let one = written(5, &x[..1], &[]);
    assert_eq!(taken::<f32>(5, source::npy(&one[..])).expect("one"), x[..1]);
    // A `bool` is a byte.
    let positive: Vec<u8> = f64::expected().iter().map(|&x| u8::from(x > 0.0)).collect();
    assert_eq!(taken::<u8>(5, source::npy(opened("bool.npy"))).expect("bytes"), positive);
    // The item has so many dimensions that the header is longer than 128 bytes.
    let many = written(5, &x, &[1; 40]);
    assert_eq!((many.len() % 64, taken::<f32>(5, source::npy(&many[..])).expect("a file")), (48, x));
}

/// Files as older programs wrote them, and programs other than NumPy.
#[test]
fn headers_of_others() {
    for header in [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 1L), }       \n",
        "{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"<f4\"}",
        "  { 'fortran_order' : True , 'shape' : ( 2 ) , 'descr' : '=f4' }\n",
        "{'descr': 'f4', 'fortran_order': False, 'shape': (1, 2, 1,)}",
    ] {
        for version in [1, 2, 3] {
            let file = file(version, header, 8);
            assert_eq!(taken::<f32>(5, source::npy(&file[..])).expect(header), [0.0; 2]);
        }
    }
    // The bytes behind the array are left for the next reader.
    let (mut two, x) = (bytes("f4.npy"), f32::expected());
    two.extend(bytes("f8.npy"));
    let mut two = &two[..];
    assert_eq!(taken::<f32>(5, source::npy(&mut two)).expect("the first"), x);
    assert_eq!(taken::<f64>(5, source::npy(&mut two)).expect("the second"), f64::expected());
    assert!(two.is_empty());
}

/// Two arrays one after another through one writer.
#[test]
fn files_in_files() {
    let mut file = Cursor::new(b"before".to_vec());
    file.set_position(6);
    let mut writer = sink::npy(&mut file).0;
    through(5, source::batches([f32::expected()]), Streamed(&mut writer)).expect("the first");
    through(5, source::batches([f32::expected()]), Streamed(&mut writer)).expect("the second");
    assert_eq!(file.into_inner(), [b"before".to_vec(), bytes("f4.npy"), bytes("f4.npy")].concat());
}

#[test]
fn refusals_name_both_types() {
    for (name, expected) in [
        ("f8", "its elements are `f64` (`<f8`), not `f32`"),
        ("u4", "its elements are `u32` (`<u4`), not `f32`"),
        ("i1", "its elements are `i8` (`|i1`), not `f32`"),
        ("bool", "its elements are `bool` (`|b1`), not `f32`"),
        ("complex", "its elements are `<c8`, not `f32`"),
        ("record", "its elements are records, not `f32`"),
        ("big_endian", "its elements are big-endian (`>f4`)"),
        ("fortran", "it is in Fortran order: `numpy.ascontiguousarray` gives the order of C"),
    ] {
        let name = &format!("{name}.npy");
        assert_eq!(refused::<f32>(5, source::npy(opened(name))), (expected.to_owned(), 0));
        assert_eq!(source::npy_slice::<f32>(&bytes(name)).unwrap_err().to_string(), expected);
    }
    assert_eq!(refused::<i8>(5, source::npy(opened("u1.npy"))).0, "its elements are `u8` (`|u1`), not `i8`");
}

#[test]
fn headers_that_are_none() {
    let header = |descr: &str, shape: &str| {
        file(1, &format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"), 64)
    };
    let nonsense = "its header is not that of a `.npy` file";
    for (file, expected) in [
        (b"PK\x03\x04aaaaaaaaaaaa".to_vec(), "it is no `.npy` file, or one that was not finished"),
        (file(4, "{}", 0), "it is a `.npy` file of version 4, not of 1 to 3"),
        (file(1, "", 0), nonsense),
        (file(1, "{}", 0), nonsense),
        (file(1, "\u{e4}", 0), nonsense),
        (file(1, "{'descr': '<f4', 'fortran_order': False}", 0), nonsense),
        (file(1, "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", 0), nonsense),
        (file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + 1", 0), nonsense),
        (file(1, "{'descr': '<f4', 'fortran_order': False, 'more': (1,)}", 0), nonsense),
        (file(1, "{'descr': '<f4", 0), nonsense),
        (header("'<f4'", "(-1,)"), nonsense),
        (header("'<f4'", "(1.5,)"), nonsense),
        (header("'<f4'", "(1, 2"), nonsense),
        (header("'<f4'", &format!("{}1{}", "(".repeat(5000), ")".repeat(5000))), nonsense),
        (header("'<f4'", "(99999999999999999999999,)"), nonsense),
        (header(&format!("{}'<f4'", "[".repeat(5000)), "(1,)"), "its elements are records, not `f32`"),
        (header("'<f4'", "(4294967296, 4294967296)"), "its shape is larger than any file"),
        (header("'<f4'", "(9223372036854775807,)"), "its shape is larger than any file"),
        (header("''", "(1,)"), "its elements are ``, not `f32`"),
        (header("'\u{20ac}f4'", "(1,)"), "its elements are big-endian (`\u{20ac}f4`)"),
        (header("'<f4'", "(4000000000000000000,)"), "it ended after 16 of 4000000000000000000 elements"),
    ] {
        let said = refused::<f32>(1000, source::npy(&file[..])).0;
        assert_eq!(said, expected);
        assert_eq!(
            source::npy_slice::<f32>(&aligned(&file)[..file.len()]).unwrap_err().to_string(),
            expected
        );
    }
    let mut long = file(2, "", 0);
    long[8..12].fill(0xff);
    assert_eq!(refused::<f32>(5, source::npy(&long[..])).0, "its header is 4294967295 bytes long");
}

/// A file is cut at each byte: the elements before it are there, in whole chunks, and the error says where it
/// ended.
#[test]
fn truncated_files() {
    let (whole, x) = (bytes("f4.npy"), f32::expected());
    for cut in 0..whole.len() {
        let mut z = Vec::new();
        let error = through::<f32>(5, source::npy(&whole[..cut]), sink::extend(&mut z)).unwrap_err();
        let Detail::Source { error: of, .. } = error.detail() else { panic!("{error}") };
        assert_eq!(of.kind(), io::ErrorKind::UnexpectedEof, "{error}");
        let elements = cut.saturating_sub(128) / 4;
        let said = match cut.checked_sub(128) {
            None => "it ended within the header of a `.npy` file".to_owned(),
            Some(data) if data % 4 > 0 => format!("it ended {} bytes into an element of 4", data % 20),
            Some(_) => format!("it ended after {elements} of 12 elements"),
        };
        let in_element = cut >= 128 && cut % 4 > 0;
        assert!(if in_element {
            of.to_string().ends_with("into an element of 4")
        } else {
            of.to_string() == said
        });
        assert_eq!(error.place().chunk, Some(elements as u64 / 5));
        assert_eq!(z, x[..elements / 5 * 5], "what was complete stays complete");
        assert!(source::npy_slice::<f32>(&aligned(&whole[..cut])[..cut]).is_err());
    }
}

/// Any byte of the header may be changed: the file is read, or refused.
#[test]
fn damaged_headers() {
    let whole = bytes("shape_3_4.npy");
    let mut read = 0;
    for (at, byte) in
        (0..128).flat_map(|at| [0, 1, b' ', b'(', b'[', b'9', b'\'', 0x80, 0xff].map(|byte| (at, byte)))
    {
        let mut file = whole.clone();
        file[at] = byte;
        read += usize::from(source::npy_slice::<f32>(&aligned(&file)[..file.len()]).is_ok());
    }
    // Most of the header is blank.
    assert!((50..500).contains(&read), "{read}");
}

#[test]
fn a_slice_that_is_not_aligned() {
    let file = bytes("f4.npy");
    let map = aligned(&[&[0], &file[..]].concat());
    let error = source::npy_slice::<f32>(&map[1..]).unwrap_err();
    assert_eq!(error.to_string(), "its elements do not lie at multiples of 4 bytes in memory");
}

/// A disk may have any room: there is an error at the chunk, and no file that looks complete.
#[test]
fn full_disks() {
    let x = f32::expected();
    for room in 0..176 {
        let mut small = Small::new(room);
        let (kind, _, chunk) = refuses(5, &x, sink::npy(&mut small));
        assert_eq!(kind, io::ErrorKind::StorageFull);
        assert_eq!(chunk, Some(room.saturating_sub(128) as u64 / 20));
        let left = small.0.into_inner();
        assert!(left.len() <= room && taken::<f32>(5, source::npy(&left[..])).is_err());
    }
    let mut enough = Small::new(176);
    through(5, source::batches([&x]), sink::npy(&mut enough)).expect("there is room");
    assert_eq!(enough.0.into_inner(), bytes("f4.npy"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_that_is_full() {
    let (kind, said, chunk) = refuses(5, &f32::expected(), sink::npy(super::full()));
    assert_eq!((kind, chunk), (io::ErrorKind::StorageFull, Some(0)), "{said}");
}

/// In such a file the header would come last.
#[test]
fn a_file_that_is_open_for_appending() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let appending = std::fs::OpenOptions::new().append(true).open(file.path()).expect("a file");
    let (kind, said, _) = refuses(5, &f32::expected(), sink::npy(appending));
    assert_eq!(kind, io::ErrorKind::InvalidInput);
    assert!(said.contains("open for appending"), "{said}");
}

#[test]
fn items_that_are_not_whole() {
    let x = f32::expected();
    let mut file = Cursor::new(Vec::new());
    let (_, said, chunk) = refuses(5, &x, sink::npy_items(&mut file, &[5, 2]));
    assert_eq!(said, "12 elements are no whole number of items of the shape [5, 2]");
    assert_eq!(chunk, None);
    assert!(taken::<f32>(5, source::npy(&file.into_inner()[..])).is_err());
    for shape in [&[0_usize, 3][..], &[usize::MAX, 2]] {
        let (_, said, _) = refuses(5, &x, sink::npy_items(Cursor::new(Vec::new()), shape));
        assert_eq!(said, format!("an item of the shape {shape:?} has no elements, or too many"));
    }
}

/// A run that fails elsewhere leaves a file of the chunks that were complete; one that is never finished
/// leaves none.
#[test]
fn what_was_complete_stays_complete() {
    let x = f32::expected();
    let fails = source::from_fn(|c, slot: &mut [f32]| {
        if c.index == 2 {
            return Err(io::Error::other("the disk is on fire"));
        }
        let len = slot.len();
        slot.copy_from_slice(&x[c.start..][..len]);
        Ok(len)
    });
    let mut file = Cursor::new(Vec::new());
    let error = through(5, fails, sink::npy(&mut file)).unwrap_err();
    assert_eq!(error.complete()[0].items, 10);
    assert_eq!(taken::<f32>(5, source::npy(&file.into_inner()[..])).expect("a file"), x[..10]);

    struct Dies(Vec<u8>);
    impl Write for Dies {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(io::Error::other("unplugged"))
        }
    }
    impl io::Seek for Dies {
        fn seek(&mut self, _: io::SeekFrom) -> io::Result<u64> {
            Ok(self.0.len() as u64)
        }
    }
    let mut dies = Dies(Vec::new());
    let (_, said, chunk) = refuses(5, &x, sink::npy(&mut dies));
    assert_eq!((&said[..], chunk), ("unplugged", None));
    assert_eq!(
        refused::<f32>(5, source::npy(&dies.0[..])).0,
        "it is no `.npy` file, or one that was not finished"
    );
}
