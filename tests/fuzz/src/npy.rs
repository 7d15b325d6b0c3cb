//! `.npy` files.

use std::fmt::Debug;
use std::io::{Cursor, ErrorKind};
use std::sync::OnceLock;

use thalweg::bytemuck;
use thalweg::half::f16;
use thalweg::io::{Scalar, Sink, Source};
use thalweg::plan::Chunk;
use thalweg::prelude::*;

stream_pipeline! {
    /// From one end to the other.
    pub(super) pipeline Through {
        input x: [f32];
        output z: [f32];
        chunk c = 4;
        stage there { copy x -> dx; }
        stage back { copy dx -> z; }
    }
}

/// Some chunk: only a run makes one. Files do not look at it.
fn chunk() -> Chunk {
    static CHUNK: OnceLock<Chunk> = OnceLock::new();
    *CHUNK.get_or_init(|| {
        let mut seen = None;
        let see = sink::for_each(|chunk, _: &[f32]| {
            seen = Some(chunk);
            Ok(())
        });
        let device = Device::simulated(Simulation::default());
        Through::new(&device).and_then(|mut pipeline| pipeline.run(&[0.0; 4], see)).expect("a run");
        seen.expect("a chunk")
    })
}

/// A `.npy` file has elements of one type at most, and they are bytes of the file. A file that is written of
/// them has the same elements.
///
/// # Panics
///
/// If that does not hold.
pub fn npy(bytes: &[u8]) {
    let types =
        [elements::<u8>, elements::<i16>, elements::<f16>, elements::<f32>, elements::<u64>, elements::<f64>];
    let read = types.iter().filter(|elements| elements(bytes)).count();
    assert!(read <= 1, "the elements are of {read} types");
}

/// Whether the file is one of such elements.
fn elements<T: Scalar + PartialEq + Debug>(file: &[u8]) -> bool {
    let slice = source::npy_slice::<T>(file);
    let mut rest = file;
    let read = whole(&mut source::npy(&mut rest).0);
    let used = file.len() - rest.len();
    match (&read, slice) {
        (Ok(read), Ok(slice)) => {
            assert_eq!(bytemuck::cast_slice::<T, u8>(read), bytemuck::cast_slice(slice));
        }
        // It is not aligned.
        (Ok(_), Err(error)) if error.kind() == ErrorKind::InvalidInput => {}
        (Err(one), Err(other)) => assert_eq!(one.kind(), other.kind(), "{one}, but {other}"),
        (read, slice) => panic!("{:?}, but {:?}", read.as_ref().err(), slice.err()),
    }
    let Ok(read) = read else { return false };
    let data: &[u8] = bytemuck::cast_slice(&read);
    assert!(file[..used].ends_with(data), "what is read is not what precedes the rest");

    let mut copy = Cursor::new(Vec::new());
    let mut sink = sink::npy(&mut copy).0;
    sink.write(chunk(), &read).and_then(|()| Sink::<T>::finish(&mut sink)).expect("it is written");
    let copy = copy.into_inner();
    assert_eq!((copy.len() - data.len()) % 64, 0, "the data are not aligned");
    let again = whole::<T>(&mut source::npy(&copy[..]).0).expect("what was written is read");
    assert_eq!(bytemuck::cast_slice::<T, u8>(&again), data);
    true
}

/// All that a source gives, in parts that divide nothing.
fn whole<T: Scalar>(source: &mut impl Source<T>) -> std::io::Result<Vec<T>> {
    let mut elements = Vec::new();
    let mut part = [T::zeroed(); 7];
    loop {
        match source.read(chunk(), &mut part)? {
            0 => return Ok(elements),
            filled => elements.extend_from_slice(&part[..filled]),
        }
    }
}
