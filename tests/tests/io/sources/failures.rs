//! Errors of sources, of sinks and elsewhere: their texts, which results are complete, and that nothing
//! hangs.

use std::io;
use std::sync::mpsc;

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_tests::built_in_mode;
use thalweg_tests::kernels::{REFUSED, refuses};
use thalweg_tests::numbers;
use thalweg_tests::waiting::everywhere;

use super::{Axpy, axpy};

const LEN: usize = 30;
const CHUNKS: usize = 8;

/// A source of all of `data`, up to a chunk that fails.
fn fails_at(data: &[f32], chunk: usize, panics: bool) -> impl thalweg::io::Source<f32> + '_ {
    source::from_fn(move |c, slot: &mut [f32]| {
        if c.index == chunk {
            assert!(!panics, "the source is at its end");
            return Err(io::Error::other("the disk is on fire"));
        }
        let len = slot.len().min(data.len() - c.start);
        slot[..len].copy_from_slice(&data[c.start..][..len]);
        Ok(len)
    })
    .0
}

fn is_source_error(error: &Error, chunk: usize, panics: bool) {
    let Detail::Source { host: "y", error: of } = error.detail() else { panic!("{error}") };
    let expected = if panics { "it panicked: the source is at its end" } else { "the disk is on fire" };
    assert_eq!(of.to_string(), expected);
    let place = error.place();
    assert_eq!(
        (place.pipeline, place.stage, place.operation),
        (Some("Axpy"), Some("load"), Some("copy y -> dy"))
    );
    assert_eq!((place.chunk, place.site.is_some()), (Some(chunk as u64), true));
    assert_eq!(std::error::Error::source(error).map(ToString::to_string).as_deref(), Some(expected));
}

#[test]
fn a_source_that_fails_at_each_chunk() {
    everywhere(|device, graph| {
        let (x, y) = (numbers(LEN), numbers(2 * LEN).split_off(LEN));
        let expected = axpy(2.0, &x, &y);
        let mut pipeline = built_in_mode!(Axpy, device, graph, depth(3));
        for (chunk, panics, known) in
            (0..CHUNKS).flat_map(|chunk| [(chunk, false, true), (chunk, false, false), (chunk, true, false)])
        {
            let failing = thalweg::io::Streamed(fails_at(&y, chunk, panics));
            let mut z = Vec::new();
            let error = match known {
                true => pipeline.run(2.0, &x, failing, sink::extend(&mut z)),
                false => pipeline.run(2.0, source::batches([&x]), failing, sink::extend(&mut z)),
            };
            let error = error.unwrap_err();
            is_source_error(&error, chunk, panics);
            let complete = &error.complete()[0];
            assert_eq!((complete.host, complete.chunks, complete.items), ("z", chunk as u64, 4 * chunk));
            assert_eq!(z, expected[..4 * chunk]);

            // The output is a slice, which is not touched behind that chunk.
            let mut z = vec![f32::NAN; LEN];
            let failing = thalweg::io::Streamed(fails_at(&y, chunk, panics));
            let error = pipeline.run(2.0, &x, failing, &mut z).unwrap_err();
            is_source_error(&error, chunk, panics);
            assert_eq!(error.complete()[0].items, 4 * chunk);
            assert_eq!(z[..4 * chunk], expected[..4 * chunk]);
            assert!(z[4 * chunk..].iter().all(|z| z.is_nan()));
            pipeline.run(2.0, &x, &y, &mut z).unwrap();
            assert_eq!(z, expected);
        }
    });
}

/// A sink that refuses a chunk, has no more room, or panics.
#[test]
fn a_sink_that_fails_at_each_chunk() {
    everywhere(|device, graph| {
        let (x, y) = (numbers(LEN), numbers(2 * LEN).split_off(LEN));
        let expected = axpy(2.0, &x, &y);
        let mut pipeline = built_in_mode!(Axpy, device, graph, depth(3));
        for (refused, panics) in (0..CHUNKS).flat_map(|chunk| [(chunk, false), (chunk, true)]) {
            for known in [false, true] {
                let mut z = Vec::new();
                let failing = sink::for_each(|c, data: &[f32]| {
                    if c.index == refused {
                        assert!(!panics, "no more");
                        return Err(io::ErrorKind::StorageFull.into());
                    }
                    z.extend_from_slice(data);
                    Ok(())
                });
                let error = match known {
                    true => pipeline.run(2.0, &x, source::batches([&y]), failing),
                    false => pipeline.run(2.0, source::batches([&x]), source::batches([&y]), failing),
                };
                let error = error.unwrap_err();
                let Detail::Sink { host: "z", error: of } = error.detail() else { panic!("{error}") };
                assert_eq!(of.to_string() == "it panicked: no more", panics, "{of}");
                let place = error.place();
                assert_eq!((place.stage, place.operation), (Some("store"), Some("copy dy -> z")));
                assert_eq!(place.chunk, Some(refused as u64));
                let complete = &error.complete()[0];
                assert_eq!((complete.chunks, complete.items), (refused as u64, 4 * refused), "{error}");
                assert_eq!(z, expected[..4 * refused]);
            }
        }
        let mut z = Vec::new();
        pipeline.run(2.0, source::batches([&x]), source::batches([&y]), sink::extend(&mut z)).unwrap();
        assert_eq!(z, expected);
    });
}

/// A sink that has taken everything, and fails when it is closed.
#[test]
fn a_sink_that_fails_at_the_end() {
    struct Full(bool);
    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            assert!(!self.0, "it panics");
            Err(io::ErrorKind::StorageFull.into())
        }
    }
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Axpy, device, graph);
        let x = numbers(LEN);
        for panics in [false, true] {
            let error = pipeline.run(2.0, &x, source::batches([&x]), sink::write(Full(panics))).unwrap_err();
            assert!(matches!(error.detail(), Detail::Sink { host: "z", .. }), "{error}");
            assert_eq!((error.place().chunk, error.complete()[0].items), (None, LEN));
        }
    });
}

#[test]
fn a_channel_without_a_receiver() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Axpy, device, graph);
        let x = numbers(LEN);
        let (sender, receiver) = mpsc::channel();
        drop(receiver);
        let error = pipeline.run(2.0, &x, source::batches([&x]), sink::channel(sender)).unwrap_err();
        assert!(
            error.to_string().starts_with("sink `z` failed: the receiver of its channel is gone"),
            "{error}"
        );
        assert_eq!(error.complete()[0].items, 0);
        // A source that goes away while the run is under way.
        let (sender, receiver) = mpsc::sync_channel(0);
        let (error, first) = std::thread::scope(|scope| {
            let first = scope.spawn(move || receiver.recv().unwrap());
            let error = pipeline.run(2.0, &x, source::batches([&x]), sink::sync_channel(sender)).unwrap_err();
            (error, first.join().unwrap())
        });
        assert_eq!((error.place().chunk, error.complete()[0].chunks), (Some(1), 1), "{error}");
        assert_eq!(first, axpy(2.0, &x[..4], &x[..4]));
    });
}

#[test]
fn what_sources_must_not_do() {
    everywhere(|device, graph| {
        let mut through = built_in_mode!(super::Through<[f32; 3]>, device, graph, chunk(4));
        let mut run = |k, source: &mut dyn thalweg::io::Source<[f32; 3]>| {
            let mut z = Vec::new();
            let error = through.run(k, thalweg::io::Streamed(source), sink::extend(&mut z)).unwrap_err();
            assert_eq!(error.complete()[0].items * k, z.len());
            (error.to_string().lines().next().unwrap().to_owned(), error.place().chunk, z.len())
        };
        let mut bytes = source::read(&[0_u8; 12 * 5 + 7][..]).0;
        let message = "source `x` failed: it ended 7 bytes into an element of 12";
        assert_eq!(run(1, &mut bytes), (message.to_owned(), Some(1), 4));
        let mut elements = source::iter(vec![[1.0; 3]; 14]).0;
        let message = "source `x` failed: it ended 2 elements into an item of 3";
        assert_eq!(run(3, &mut elements), (message.to_owned(), Some(1), 12));
        let mut liar = source::from_fn(|_, slot: &mut [[f32; 3]]| Ok(slot.len() + 1)).0;
        let message = "source `x` failed: it says that it has filled 5 elements of 4";
        assert_eq!(run(1, &mut liar), (message.to_owned(), Some(0), 0));
    });
}

fn looks_at(h: &[i32], worst: i32) -> Result<(), String> {
    if h.contains(&worst) { Err("it is the worst".to_owned()) } else { Ok(()) }
}

stream_pipeline! {
    /// Fails in a kernel, or on the CPU.
    pipeline Fragile {
        param worst: i32;
        input x: [i32];
        output y: [i32];
        device dy: [i32];
        host h: [i32];
        chunk c = 4;
        depth = 3;
        stage load { copy x -> dx; }
        stage check { copy dx -> h; host looks_at(&h, worst); copy h -> ex; }
        stage work { refuses<<<1, 32>>>(c.len as u32, &ex, out dy); }
        stage store { copy dy -> y; }
    }
}

/// Wrong results do not get to a sink, and a source without an end does not keep the run from ending.
#[test]
fn kernels_and_functions_that_fail() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Fragile, device, graph);
        for bad in [0, 3, 4, 17, 40] {
            for (worst, kind) in [(REFUSED, "HostBody"), (REFUSED + 1, "HostFunction")] {
                let endless = (0_i32..).map(|i| if i == bad { worst } else { i });
                let mut y = Vec::new();
                let error =
                    pipeline.run(REFUSED + 1, source::iter(endless), sink::extend(&mut y)).unwrap_err();
                assert!(format!("{:?}", error.detail()).starts_with(kind), "{error:?}");
                assert_eq!(error.place().chunk, Some(bad as u64 / 4));
                assert_eq!(error.complete()[0].items, y.len());
                assert!(
                    y.len() <= bad as usize / 4 * 4 && y.len() + 3 * 4 >= bad as usize / 4 * 4,
                    "{}",
                    y.len()
                );
                assert!(y.iter().zip(0..).all(|(y, x)| *y == x + 1));
            }
        }
        let mut y = Vec::new();
        pipeline.run(-1, source::iter(0..30), sink::extend(&mut y)).unwrap();
        assert_eq!(y, (1..31).collect::<Vec<_>>());
    });
}

stream_pipeline! {
    pipeline Panics {
        param at: usize;
        input x: [f32];
        output z: [f32];
        chunk c = 4;
        stage load { copy x -> dx; }
        stage look { thalweg_tests::kernels::add_to<<<1, 32>>>(c.len as u32, by(at, c.index), &mut dx); }
        stage store { copy dx -> z; }
    }
}

fn by(at: usize, index: usize) -> f32 {
    assert_ne!(at, index, "an expression panics");
    1.0
}

/// The run unwinds when its threads have ended.
#[test]
fn an_expression_that_panics() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Panics, device, graph);
        for at in [0, 1, 5] {
            let mut z = Vec::new();
            let x = numbers(1000);
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                pipeline.run(at, source::batches(x.chunks(5)), sink::extend(&mut z))
            }));
            assert!(outcome.is_err());
            assert!(z.iter().zip(&x).all(|(z, x)| *z == x + 1.0) && z.len() <= 4 * at, "{}", z.len());
        }
        let mut z = Vec::new();
        pipeline.run(usize::MAX, source::iter([1.0; 9]), sink::extend(&mut z)).unwrap();
        assert_eq!(z, [2.0; 9]);
    });
}
