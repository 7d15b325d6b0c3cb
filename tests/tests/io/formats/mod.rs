//! Files and columns of other programs as sources and sinks: files of NumPy and pyarrow (`fixtures`, made by
//! `make.py` there), files written for them, every refusal, files that are damaged, disks that are full.

mod arrow;
mod attacks;
mod bounded;
mod crafted;
mod mapped;
mod npy;
mod parquet;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use thalweg::__private::Detail;
use thalweg::half::f16;
use thalweg::io::{Scalar, Sink, Source, Streamed};
use thalweg::prelude::*;
use thalweg_tests::{leaves_nothing, small};

stream_pipeline! {
    /// Copies elements of any type to the device and back.
    pub pipeline Through<T: Pod> {
        param len: usize;
        input x: [T];
        output z: [T];
        chunk c = len;
        depth = 3;
        stage there { copy x -> dx; }
        stage back { copy dx -> z; }
    }
}

/// Chunk lengths that divide nothing, and one that holds everything.
const CHUNKS: [usize; 4] = [1, 5, 7, 1000];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/io/formats/fixtures").join(name)
}

fn opened(name: &str) -> File {
    File::open(fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Runs from one to the other. Afterwards nothing of the device is held.
fn through<T: Pod>(
    len: usize,
    x: Streamed<impl Source<T>>,
    z: Streamed<impl Sink<T>>,
) -> thalweg::Result<()> {
    let device = small(Simulation::default());
    let mut result = Ok(());
    leaves_nothing(&device, || {
        result = Through::<T>::new(&device).and_then(|mut pipeline| pipeline.run(len, x, z)).map(|report| {
            assert!(!report.to_string().is_empty());
        });
    });
    result
}

/// All elements that a source gives, in chunks of this length.
fn taken<T: Pod + Send>(len: usize, x: Streamed<impl Source<T>>) -> thalweg::Result<Vec<T>> {
    let mut z = Vec::new();
    through(len, x, sink::extend(&mut z))?;
    Ok(z)
}

/// The error of a source, and its chunk.
fn refused<T: Pod + Send>(len: usize, x: Streamed<impl Source<T>>) -> (String, u64) {
    let error = taken(len, x).err().expect("the source fails");
    let Detail::Source { host: "x", error: of } = error.detail() else { panic!("{error}") };
    let place = error.place();
    assert_eq!(
        (place.pipeline, place.stage, place.operation),
        (Some("Through"), Some("there"), Some("copy x -> dx"))
    );
    (of.to_string(), place.chunk.expect("a chunk"))
}

/// The error of a sink that gets these in chunks of this length; and its chunk, if it did not fail at the
/// end.
fn refuses<T: Pod + Send + Sync>(
    len: usize,
    x: &[T],
    z: Streamed<impl Sink<T>>,
) -> (io::ErrorKind, String, Option<u64>) {
    let error = through(len, source::batches([x]), z).expect_err("the sink fails");
    let Detail::Sink { host: "z", error: of } = error.detail() else { panic!("{error}") };
    (of.kind(), of.to_string(), error.place().chunk)
}

/// From NumPy's file through Arrow's arrays and a Parquet file to NumPy's.
#[test]
#[ignore = "needs a CUDA device"]
fn on_a_gpu() {
    let device = Device::cuda(0).expect("a GPU");
    let mut pipeline = Through::<f32>::new(&device).expect("a pipeline");
    for len in CHUNKS {
        let (mut arrays, mut numpy) = (Vec::new(), io::Cursor::new(Vec::new()));
        let each = thalweg_arrow::sink::arrays(|array: arrow_array::Float32Array| {
            arrays.push(array);
            Ok(())
        });
        pipeline.run(len, source::npy(opened("f4.npy")), each).expect("arrays");
        let mut file = tempfile::tempfile().expect("a file");
        pipeline
            .run(len, thalweg_arrow::source::arrays(&arrays), thalweg_parquet::sink::parquet(&mut file, "z"))
            .expect("a file");
        pipeline
            .run(len, thalweg_parquet::source::parquet(file, "z"), sink::npy(&mut numpy))
            .expect("a file");
        assert_eq!(numpy.into_inner(), bytes("f4.npy"));
    }
}

/// A number that the fixtures hold: `i * i / 4 - 5`, without a sign in unsigned types.
trait Number: Scalar + thalweg_arrow::Scalar + thalweg_parquet::Scalar + PartialEq + std::fmt::Debug {
    const NUMPY: &'static str;
    const PYARROW: &'static str;
    fn of(number: f64) -> Self;

    fn expected() -> Vec<Self> {
        (0..12).map(|i| Self::of(f64::from(i * i) / 4.0 - 5.0)).collect()
    }
}

macro_rules! numbers {
    ($($type:ident $numpy:literal $pyarrow:literal $of:expr;)*) => {
        $(impl Number for $type {
            const NUMPY: &'static str = $numpy;
            const PYARROW: &'static str = $pyarrow;
            fn of(number: f64) -> Self { ($of)(number) }
        })*

        /// Calls a generic function for each type of numbers.
        macro_rules! for_each_number {
            ($function:ident) => { $($function::<$type>();)* };
        }
        use for_each_number;
    };
}

numbers! {
    f16 "f2" "float16" Self::from_f64;
    f32 "f4" "float32" |x| x as f32;
    f64 "f8" "float64" |x| x;
    i8 "i1" "int8" |x| x as i8;
    i16 "i2" "int16" |x| x as i16;
    i32 "i4" "int32" |x| x as i32;
    i64 "i8" "int64" |x| x as i64;
    u8 "u1" "uint8" |x: f64| x.abs() as u8;
    u16 "u2" "uint16" |x: f64| x.abs() as u16;
    u32 "u4" "uint32" |x: f64| x.abs() as u32;
    u64 "u8" "uint64" |x: f64| x.abs() as u64;
}

/// A disk that has room for so many bytes.
#[derive(Debug)]
struct Small(io::Cursor<Vec<u8>>, usize);

impl Small {
    fn new(room: usize) -> Self {
        Self(io::Cursor::default(), room)
    }
}

impl io::Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.1.saturating_sub(self.0.position() as usize).min(bytes.len());
        if room == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.write(&bytes[..room])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl io::Seek for Small {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// The disk that is always full.
#[cfg(target_os = "linux")]
fn full() -> File {
    File::options().write(true).open("/dev/full").expect("`/dev/full`")
}
