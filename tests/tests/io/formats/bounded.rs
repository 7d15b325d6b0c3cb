//! No more than a part of a file is in memory: the ring limits reading ahead, and written data wait for a row
//! group at most.

use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use thalweg::io::{Sink, Streamed};
use thalweg::plan::Chunk;
use thalweg::prelude::*;

use super::through;

const LEN: usize = 100_000;
const CHUNK: usize = 1000;
/// Rows of a row group.
const GROUP: usize = 3000;
/// Ring slots, the two chunks that a source may be ahead of the slowest sink, and the chunk that it reads.
const AHEAD: usize = 3 + 2 + 1;

/// The position up to which somebody has read or written, in bytes.
static NPY: AtomicU64 = AtomicU64::new(0);
static PARQUET: AtomicU64 = AtomicU64::new(0);
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Numbers that do not compress.
fn numbers() -> Vec<u32> {
    (0..LEN as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect()
}

fn uncompressed() -> WriterProperties {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(GROUP));
    properties.set_compression(Compression::UNCOMPRESSED).set_dictionary_enabled(false).build()
}

/// A sink that is at most `most` bytes behind the bytes that were read.
fn behind(read: &'static AtomicU64, most: usize) -> impl Sink<u32> {
    let mut chunks = 0;
    sink::for_each(move |c, data: &[u32]| {
        chunks += 1;
        assert_eq!((c.index, data), (chunks - 1, &numbers()[c.start..c.start + data.len()]));
        let ahead = read.load(Ordering::SeqCst) as usize - 4 * c.start;
        if ahead > most {
            Err(io::Error::other(format!("{ahead} bytes ahead at chunk {}", c.index)))
        } else {
            Ok(())
        }
    })
    .0
}

#[test]
fn a_npy_file_is_read_as_far_as_the_ring_goes() {
    struct Counted<R>(R);
    impl<R: Read> Read for Counted<R> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(bytes)?;
            NPY.fetch_add(read as u64, Ordering::SeqCst);
            Ok(read)
        }
    }
    let mut file = Cursor::new(Vec::new());
    through(CHUNK, source::batches([numbers()]), sink::npy(&mut file)).unwrap();
    file.set_position(0);
    through(CHUNK, source::npy(Counted(file)), Streamed(behind(&NPY, 128 + 4 * AHEAD * CHUNK))).unwrap();
    assert_eq!(NPY.load(Ordering::SeqCst) as usize, 128 + 4 * LEN);
}

#[test]
fn a_parquet_file_is_read_as_far_as_the_ring_goes() {
    /// A file whose data end there.
    struct Counted(File, u64);
    impl Length for Counted {
        fn len(&self) -> u64 {
            self.0.len()
        }
    }
    impl ChunkReader for Counted {
        type T = Box<dyn Read>;
        fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
            // The bytes are noted when they are read, which the caller's `take` limits.
            let (file, end) = (self.0.get_read(start)?, self.1);
            Ok(Box::new(At { file, at: start, end }))
        }
        fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
            note(start + length as u64, self.1);
            self.0.get_bytes(start, length)
        }
    }
    struct At<R> {
        file: R,
        at: u64,
        end: u64,
    }
    impl<R: Read> Read for At<R> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let read = self.file.read(bytes)?;
            self.at += read as u64;
            note(self.at, self.end);
            Ok(read)
        }
    }
    fn note(at: u64, end: u64) {
        // The file's metadata, behind all data, are read first.
        if at <= end {
            PARQUET.fetch_max(at, Ordering::SeqCst);
        }
    }
    let mut file = tempfile::tempfile().unwrap();
    let x = numbers();
    through(CHUNK, source::batches([x]), thalweg_parquet::sink::parquet_with(&mut file, "x", uncompressed()))
        .unwrap();
    let metadata = SerializedFileReader::new(file.try_clone().unwrap()).unwrap();
    let columns = metadata.metadata().row_groups().iter().map(|group| group.column(0).byte_range());
    let end = columns.map(|(start, length)| start + length).max().unwrap();
    assert!(end as usize > 4 * LEN);
    // Pages are read whole, here a row group; 200 bytes of each row group are not data.
    let most = 4 * (AHEAD * CHUNK + GROUP) + 200 * (LEN / GROUP + 1);
    through(
        CHUNK,
        thalweg_parquet::source::parquet(Counted(file, end), "x"),
        Streamed(behind(&PARQUET, most)),
    )
    .unwrap();
    assert_eq!(PARQUET.load(Ordering::SeqCst), end);
}

#[test]
fn what_is_written_waits_for_a_row_group() {
    struct Counted;
    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            WRITTEN.fetch_add(bytes.len() as u64, Ordering::SeqCst);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    struct Watched<S>(S);
    impl<S: Sink<u32>> Sink<u32> for Watched<S> {
        fn write(&mut self, chunk: Chunk, data: &[u32]) -> io::Result<()> {
            self.0.write(chunk, data)?;
            let waits =
                4 * (chunk.start + data.len()).saturating_sub(WRITTEN.load(Ordering::SeqCst) as usize / 4);
            // The rest that is not a full row group, and the buffer of the file.
            assert!(waits <= 4 * GROUP + 8192, "{waits} bytes wait at chunk {}", chunk.index);
            Ok(())
        }
        fn finish(&mut self) -> io::Result<()> {
            self.0.finish()
        }
    }
    let sink = Watched(thalweg_parquet::sink::parquet_with(Counted, "z", uncompressed()).0);
    through(CHUNK, source::batches([numbers()]), Streamed(sink)).unwrap();
    assert!(WRITTEN.load(Ordering::SeqCst) as usize > 4 * LEN);
}
