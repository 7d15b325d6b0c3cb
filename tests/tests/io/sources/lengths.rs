//! The number of items of a run, and what decides it.

use thalweg::__private::Detail;
use thalweg::io::Streamed;
use thalweg::plan::Chunk;
use thalweg::prelude::*;
use thalweg_tests::built_in_mode;
use thalweg_tests::kernels::{accumulate, double_all, gather, summarise, weigh};
use thalweg_tests::numbers;
use thalweg_tests::waiting::{everywhere, in_time};

use super::{Axpy, axpy};

/// A source that reports how many elements were requested of it.
struct Counted<'c> {
    data: &'c [f32],
    asked: &'c mut usize,
}

impl thalweg::io::Source<f32> for Counted<'_> {
    fn read(&mut self, _: Chunk, slot: &mut [f32]) -> std::io::Result<usize> {
        *self.asked += slot.len();
        let len = slot.len().min(self.data.len());
        slot[..len].copy_from_slice(&self.data[..len]);
        self.data = &self.data[len..];
        Ok(len)
    }
}

/// An argument with a length decides how much of a source is read: exactly so much.
#[test]
fn known_and_unknown() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Axpy, device, graph);
        for len in [0, 1, 3, 4, 5, 30] {
            let (x, y, more) = (numbers(len), numbers(2 * len).split_off(len), numbers(len + 100));
            let expected = axpy(3.0, &x, &y);
            let mut asked = 0;
            let mut z = Vec::new();
            let endless = Streamed(Counted { data: &more, asked: &mut asked });
            let report = pipeline.run(3.0, endless, &y, sink::extend(&mut z)).unwrap();
            assert_eq!((&z[..], report.items, asked), (&expected[..], len, len));

            let mut z = PinnedBuf::zeroed(device, len).unwrap();
            let (endless, pinned) =
                (source::iter(more.iter().copied()), PinnedBuf::from_slice(device, &y).unwrap());
            pipeline.run(3.0, endless, &pinned, &mut z).unwrap();
            assert_eq!(z[..], expected);
            pipeline.run(3.0, source::iter(x.clone()), source::iter(more.iter().copied()), &mut z).unwrap();
            assert_eq!(z[..], axpy(3.0, &x, &more));

            // Only the sources have a length.
            let mut z = Vec::new();
            let report =
                pipeline.run(3.0, source::batches(x.chunks(7)), source::batches([&y]), sink::extend(&mut z));
            assert_eq!((&z[..], report.unwrap().items), (&expected[..], len));
        }
    });
}

#[test]
fn a_source_that_ends_early() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Axpy, device, graph);
        for len in 0..18 {
            let (x, y) = (numbers(len), numbers(18));
            let mut z = vec![f32::NAN; 18];
            let error = pipeline.run(1.0, source::batches([&x]), &y, &mut z).unwrap_err();
            let &Detail::SourceEnded { host: "x", items, other: "y" | "z", wanted: 18 } = error.detail()
            else {
                panic!("{error}")
            };
            assert_eq!((items, error.place().chunk), (len, Some(len as u64 / 4)), "{error}");
            assert_eq!((error.place().stage, error.place().operation), (Some("load"), Some("copy x -> dx")));
            let complete = &error.complete()[0];
            assert_eq!((complete.chunks, complete.items), (len as u64 / 4, len / 4 * 4), "{error}");
            assert_eq!(z[..complete.items], axpy(1.0, &x, &y)[..complete.items]);
            assert!(z[complete.items..].iter().all(|z| z.is_nan()));
        }
    });
}

#[test]
fn sources_that_end_at_different_items() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Axpy, device, graph);
        for (shorter, longer) in [(0, 1), (3, 4), (4, 5), (8, 30), (9, 30), (17, 18), (18, 20)] {
            for swapped in [false, true] {
                let (x, y) = (
                    numbers(if swapped { longer } else { shorter }),
                    numbers(if swapped { shorter } else { longer }),
                );
                let mut z = Vec::new();
                let error = pipeline
                    .run(1.0, source::batches([&x]), source::batches([&y]), sink::extend(&mut z))
                    .unwrap_err();
                let &Detail::SourcesDiffer { host, items, other, given } = error.detail() else {
                    panic!("{error}")
                };
                assert_eq!((host, other), if swapped { ("y", "x") } else { ("x", "y") });
                assert_eq!((items, given), (shorter, longer.min(shorter / 4 * 4 + 4)));
                assert_eq!(error.place().chunk, Some(shorter as u64 / 4));
                assert_eq!(error.complete()[0].items, shorter / 4 * 4);
                assert_eq!(z, axpy(1.0, &x, &y)[..shorter / 4 * 4]);
            }
        }
    });
}

#[test]
fn predictions() {
    in_time(|| {
        let device = Device::simulated(Simulation::default());
        let mut pipeline = Axpy::new(&device).unwrap();
        let never =
            || source::from_fn(|_, _: &mut [f32]| -> std::io::Result<usize> { panic!("a prediction reads") });
        let silent = || sink::for_each(|_, _: &[f32]| panic!("a prediction writes"));
        let y = numbers(1000);
        let timeline = pipeline.predict(1.0, never(), &y, silent()).unwrap();
        assert_eq!((timeline.report.items, timeline.report.chunks), (1000, 250));
        let of_vecs = pipeline.predict(1.0, &y, &y, &mut numbers(1000)).unwrap();
        assert_eq!(timeline.report.time, of_vecs.report.time);
        // A message with all two hundred spans would not help.
        assert!(timeline.spans == of_vecs.spans, "{:?}, {:?}", timeline.spans[0], of_vecs.spans[0]);
        let error = pipeline.predict(1.0, never(), never(), silent()).unwrap_err();
        assert!(matches!(error.detail(), Detail::UnknownLength { host: "x" }), "{error}");
        assert!(error.place().site.is_some());
    });
}

stream_pipeline! {
    pipeline Produces {
        param unused: u32;
        output z: [f32];
        chunk c = 4;
        stage all { fill dz = unused as f32; copy dz -> z; }
        device dz: [f32];
    }
}

/// A sink alone has no end.
#[test]
fn nothing_says_how_many() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Produces, device, graph);
        let error = pipeline.run(1, sink::extend(&mut Vec::new())).unwrap_err();
        assert!(matches!(error.detail(), Detail::UnknownLength { host: "z" }), "{error}");
        let mut z = vec![0.0; 9];
        pipeline.run(7, &mut z).unwrap();
        assert_eq!(z, [7.0; 9]);
    });
}

stream_pipeline! {
    pipeline Summary {
        input x: [f32];
        output summary: [f32; 2] per chunk;
        device d_summary: [f32; 2] per chunk;
        chunk c = 4;
        stage load { copy x -> dx; }
        stage sum { summarise<<<1, 32>>>(c.len as u32, &dx, out d_summary); }
        stage store { copy d_summary -> summary; }
    }
}

/// Nobody knows how many chunks there will be: a sink takes them all, a slice as many as it has room for.
#[test]
fn results_by_chunk() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Summary, device, graph);
        for len in [0, 1, 4, 21, 40] {
            let x = numbers(len);
            let mut expected = vec![0.0; 2 * len.div_ceil(4)];
            pipeline.run(&x, &mut expected).unwrap();
            let mut summary = Vec::new();
            pipeline.run(source::batches([&x]), sink::extend(&mut summary)).unwrap();
            assert_eq!(summary, expected);
            pipeline.run(&x, sink::extend(&mut summary)).unwrap();
            assert_eq!(summary[expected.len()..], expected);
            let mut room = vec![f32::NAN; expected.len() + 1];
            pipeline.run(source::batches([&x]), &mut room).unwrap();
            assert_eq!(room[..expected.len()], expected);
            if let Some(short) = expected.len().checked_sub(1) {
                let error = pipeline.run(source::batches([&x]), &mut room[..short]).unwrap_err();
                let needed = len.div_ceil(4);
                assert!(
                    matches!(error.detail(), Detail::PerChunkLength { host: "summary", chunks, .. } if *chunks == needed),
                    "{error}"
                );
                assert_eq!(room[..2 * (needed - 1)], expected[..2 * (needed - 1)]);
                assert_eq!(error.complete()[0].chunks, needed as u64 - 1);
            }
        }
    });
}

stream_pipeline! {
    pipeline Halo {
        input x: [f32] halo 1 = clamp;
        output z: [f32];
        device dz: [f32];
        chunk c = 4;
        stage load { copy x -> dx; }
        stage weigh { weigh<<<1, 32>>>(c.len as u32, 1, &dx, out dz); }
        stage store { copy dz -> z; }
    }
}

stream_pipeline! {
    pipeline Looks {
        input index: [u32];
        resident table: [f32];
        carry total: [i64; 2] = 0;
        input x: [i64];
        output z: [f32];
        device dz: [f32];
        chunk c = 4;
        stage load { copy index -> d_index; copy x -> dx; }
        stage look {
            gather<<<1, 32>>>(c.len as u32, 3, &d_index, &table, out dz);
            accumulate<<<1, 32>>>(c.len as u32, &dx, &mut total);
        }
        stage store { copy dz -> z; }
    }
}

stream_pipeline! {
    /// Uses a source's elements twice, and once more in every other chunk.
    pipeline Twice {
        input x: [f32];
        output y: [f32];
        output z: [f32];
        chunk c = 4;
        stage load { copy x -> dx; }
        stage work { double_all<<<1, 32>>>(c.len as u32, &mut dx); }
        stage again { copy x -> ex; if c.index % 2 == 1 { copy x -> dx; } }
        stage store { copy dx -> y; copy ex -> z; }
    }
}

stream_pipeline! {
    pipeline Either {
        input x: [f32];
        output z: [f32];
        chunk c = 4;
        stage load { copy x -> dx; }
        stage store { if c.index % 2 == 1 { copy dx -> z; } }
    }
}

#[test]
fn what_cannot_be_streamed() {
    everywhere(|device, graph| {
        let refused = |result: thalweg::Result<Report>, name: &str, part: &str| {
            let error = result.unwrap_err();
            let Detail::NotStreamed { host, reason } = error.detail() else { panic!("{error}") };
            assert!(*host == name && reason.contains(part) && error.place().site.is_some(), "{error}");
        };
        let x = numbers(12);
        let mut halo = built_in_mode!(Halo, device, graph);
        refused(halo.run(source::batches([&x]), &mut [0.0; 12]), "x", "halo");
        let mut looks = built_in_mode!(Looks, device, graph);
        let (index, table, mut total) = (vec![2_u32; 12], [1.0, 2.0, 3.0], [0, 0]);
        let mut z = vec![0.0; 12];
        let wrong = looks.run(&index, source::batches([&table]), &mut total, &[1; 12], &mut z);
        refused(wrong, "table", "before the first chunk");
        let mut either = built_in_mode!(Either, device, graph);
        refused(either.run(&x, sink::extend(&mut z)), "z", "leave out");

        // Beside these, sources may be used like slices; a halo's result may go to a sink.
        let mut z = Vec::new();
        let (sources, sink) = ((source::iter(index), source::iter([5_i64; 12])), sink::extend(&mut z));
        looks.run(sources.0, &table, &mut total, sources.1, sink).unwrap();
        assert_eq!((&z[..], total), (&[3.0; 12][..], [60, 12]));
        let (mut expected, mut z) = (vec![0.0; 12], Vec::new());
        halo.run(&x, &mut expected).unwrap();
        halo.run(&x, sink::extend(&mut z)).unwrap();
        assert_eq!(z, expected);
    });
}

#[test]
fn a_source_that_is_copied_several_times() {
    everywhere(|device, graph| {
        let mut pipeline = built_in_mode!(Twice, device, graph);
        for len in [0, 3, 4, 5, 37] {
            let x = numbers(len);
            let (mut y, mut z) = (Vec::new(), Vec::new());
            pipeline.run(source::batches([&x]), sink::extend(&mut y), sink::extend(&mut z)).unwrap();
            let factor = |i: usize| if i / 4 % 2 == 1 { 1.0 } else { 2.0 };
            let expected: Vec<f32> = x.iter().enumerate().map(|(i, x)| factor(i) * x).collect();
            assert_eq!((y, z), (expected, x));
        }
    });
}
