//! Arguments, shapes, options and sizes that a user can get wrong at run time: the error, its place, and that
//! the pipeline works afterwards.

use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::errors::{Source, says};
use thalweg_tests::kernels::sum_rows;
use thalweg_tests::{PINNED, is, leaves_nothing, numbers, pinned, small};

const HERE: Source = Source { file: file!(), text: include_str!("bad_input.rs") };

fn device() -> Device {
    small(Simulation::default())
}

mod lengths {
    use super::*;

    stream_pipeline! {
        pipeline Saxpy { // at: lengths::Saxpy
            param a: f32;
            input x: [f32]; // at: lengths::x
            inout y: [f32]; // at: lengths::y
            chunk c = 4;
            stage load { copy x -> dx; copy y -> dy; }
            stage axpy { saxpy<<<1, 256>>>(a, &dx, &mut dy); }
            stage store { copy dy -> y; }
        }
    }

    stream_pipeline! {
        pipeline InPlace {
            param a: f32;
            input x: mapped [f32]; // at: lengths::mapped
            inout y: [f32];
            chunk c = 4;
            stage load { copy y -> dy; }
            stage axpy { saxpy<<<1, 256>>>(a, &x, &mut dy); }
            stage store { copy dy -> y; }
        }
    }

    #[test]
    fn differ() {
        let device = device();
        leaves_nothing(&device, || {
            let mut pipeline = Saxpy::new(&device).unwrap();
            let mut y = numbers(9);
            let error = pipeline.run(1.0, &numbers(10), &mut y).unwrap_err();
            is!(error, Length { host: "y", items: 9, other: "x", other_items: 10 });
            HERE.is_of_pipeline(&error, "Saxpy", "lengths::y");
            let (site, run) = (error.place().site.unwrap(), error.place().run.unwrap());
            assert_eq!(
                error.to_string(),
                format!(
                    "`y` has 9 items, but `x` has 10\n  \
                     help: all that is cut into chunks has as many items;\n    \
                     what every chunk needs whole is declared `resident`, or `carry` if kernels change it\n  \
                     in pipeline `Saxpy`\n  at {site}\n  in the run at {run}"
                ),
            );
            assert!(error.complete().is_empty());
            assert_eq!(y, numbers(9));

            pipeline.run(1.0, &numbers(9), &mut y).unwrap();
            assert_eq!(y, numbers(9).iter().map(|x| 2.0 * x).collect::<Vec<_>>());
        });
    }

    #[test]
    fn of_another_device() {
        let (device, other) = (device(), device());
        leaves_nothing(&device, || {
            let mut pipeline = Saxpy::new(&device).unwrap();
            let (foreign, own) = (pinned(&other, &[1.0; 6]), pinned(&device, &[1.0; 6]));
            // Every device copies from and to page-locked memory of another device of its kind.
            let mut y = [0.0; 6];
            pipeline.run(1.0, &foreign, &mut y).unwrap();
            assert_eq!(y, [1.0; 6]);

            // Kernels do not reach that memory.
            let mut in_place = InPlace::new(&device).unwrap();
            let mut y = [0.0; 6];
            let error = in_place.run(1.0, &foreign, &mut y).unwrap_err();
            is!(error, OtherDevice { host: "x", .. });
            HERE.is_of_pipeline(&error, "InPlace", "lengths::mapped");
            assert_eq!(
                says(&error),
                "`x` belongs to `simulated H200`, but the pipeline to another `simulated H200`"
            );
            in_place.run(1.0, &own, &mut y).unwrap();
            assert_eq!(y, [1.0; 6]);
        });
    }

    #[test]
    fn a_chunk_of_nothing() {
        let device = device();
        let error = leaves_nothing(&device, || Saxpy::options(&device).chunk(0).build().unwrap_err());
        is!(error, ChunkZero);
        HERE.is_of_pipeline(&error, "Saxpy", "lengths::Saxpy");
        assert_eq!(says(&error), "a chunk must have at least 1 item");
    }

    #[test]
    fn a_ring_of_no_slots_or_too_many() {
        let device = device();
        let build =
            |depth| leaves_nothing(&device, || Saxpy::options(&device).depth(depth).build().map(drop));
        let error = build(0).unwrap_err();
        is!(error, DepthZero);
        HERE.is_of_pipeline(&error, "Saxpy", "lengths::Saxpy");
        assert_eq!(says(&error), "the depth must be at least 1 slot");

        let error = build(1025).unwrap_err();
        is!(error, DepthTooLarge { depth: 1025, limit: 1024 });
        HERE.is_of_pipeline(&error, "Saxpy", "lengths::Saxpy");
        assert_eq!(says(&error), "a depth of 1025 slots is more than the 1024 that a ring may have");
        assert!(build(usize::MAX).is_err());
        build(1024).unwrap();
    }
}

mod shapes {
    use super::*;

    stream_pipeline! {
        pipeline SumRows { // at: shapes::SumRows
            param k: usize;
            param m: usize;
            param items: usize;
            input rows: [f32; k]; // at: shapes::rows
            output sums: [f32; m]; // at: shapes::sums
            device d_rows: [f32; k];
            device d_sums: [f32; 1 + 1];
            device _scratch: [u8; m];
            chunk c = items;
            stage load { copy rows -> d_rows; }
            stage sum { sum_rows<<<1, 32>>>(c.len as u32, k as u32, 2, &d_rows, out d_sums); }
            stage store {
                copy d_sums -> sums; // at: shapes::store
            }
        }
    }

    /// Checks that the pipeline still sums rows.
    fn works(pipeline: &mut SumRows) {
        let mut sums = [f32::NAN; 10];
        pipeline.run(3, 2, 4, &[2.0; 15], &mut sums).unwrap();
        assert_eq!(sums, [0.0, 6.0, 0.0, 6.0, 0.0, 6.0, 0.0, 6.0, 0.0, 6.0]);
    }

    /// Runs with bad input, and then with good input.
    fn error(k: usize, m: usize, items: usize, rows: &[f32], sums: &mut [f32]) -> Error {
        let device = device();
        leaves_nothing(&device, || {
            let mut pipeline = SumRows::new(&device).unwrap();
            let error = pipeline.run(k, m, items, rows, sums).unwrap_err();
            works(&mut pipeline);
            error
        })
    }

    #[test]
    fn a_length_that_is_no_multiple() {
        let error = error(3, 2, 4, &numbers(10), &mut [0.0; 6]);
        is!(error, Shape { host: "rows", len: 10, per_item: 3 });
        HERE.is_of_pipeline(&error, "SumRows", "shapes::rows");
        assert_eq!(says(&error), "`rows` has 10 elements, which is not a multiple of 3 elements an item");
    }

    #[test]
    fn no_elements_an_item() {
        let of_input = error(0, 2, 4, &[], &mut []);
        is!(of_input, ItemSize { buffer: "rows", per_item: 0 });
        HERE.is_of_pipeline(&of_input, "SumRows", "shapes::rows");
        assert_eq!(
            says(&of_input),
            "`rows` has 0 elements an item: at least 1 and a size that fits memory are needed"
        );
        let of_output = error(3, 0, 4, &numbers(6), &mut [0.0; 4]);
        is!(of_output, ItemSize { buffer: "sums", per_item: 0 });
        HERE.is_of_pipeline(&of_output, "SumRows", "shapes::sums");
    }

    #[test]
    fn items_larger_than_memory() {
        for k in [usize::MAX, usize::MAX / 4 + 1, isize::MAX as usize / 4 + 1] {
            let error = error(k, 2, 4, &[], &mut []);
            is!(error, ItemSize { buffer: "rows", per_item } if *per_item == k);
            HERE.is_of_pipeline(&error, "SumRows", "shapes::rows");
        }
        // An item may be as large as possible, but there is none: nothing is to be done, and no memory is
        // needed.
        let mut pipeline = SumRows::new(&device()).unwrap();
        let report = pipeline.run(isize::MAX as usize / 4, 2, usize::MAX, &[], &mut []).unwrap();
        assert_eq!((report.items, report.chunks), (0, 0));
    }

    #[test]
    fn copies_of_different_shapes() {
        let error = error(3, 1, 4, &numbers(6), &mut [0.0; 2]);
        is!(error, CopyShape { from: "d_sums", from_per_item: 2, to: "sums", to_per_item: 1 });
        HERE.is_of_operation(&error, "SumRows", "store: copy d_sums -> sums", None, "shapes::store");
        assert_eq!(says(&error), "`d_sums` has 2 elements an item, but `sums` has 1");
    }

    #[test]
    fn a_chunk_of_nothing() {
        let error = error(3, 2, 0, &numbers(6), &mut [0.0; 4]);
        is!(error, ChunkZero);
        HERE.is_of_pipeline(&error, "SumRows", "shapes::SumRows");
    }

    /// Elements without bytes are elements.
    #[test]
    fn elements_of_no_size() {
        stream_pipeline! {
            #[allow(deprecated, reason = "half of all addresses leave room for one slot")]
            pipeline Nothing {
                input x: [()];
                output y: [()];
                chunk c = usize::MAX / 2;
                depth = 2;
                stage all { copy x -> d; copy d -> y; }
            }
        }
        let mut pipeline = Nothing::new(&device()).unwrap();
        let report = pipeline.run(&[(); usize::MAX], &mut [(); usize::MAX]).unwrap();
        assert_eq!((report.items, report.chunks, report.bytes_to_host), (usize::MAX, 3, 0));
    }
}

mod constants {
    use super::*;

    const NONE: usize = 0;
    const HUGE: usize = usize::MAX;

    /// A pipeline that copies `x` to `y`, with a chunk, a depth and a shape that are constant.
    macro_rules! copies {
        ($name:ident, $chunk:expr, $depth:expr, $k:expr) => {
            stream_pipeline! {
                pipeline $name {
                    input x: [u8; $k];
                    output y: [u8; $k];
                    chunk c = $chunk;
                    depth = $depth;
                    stage all { copy x -> d; copy d -> y; }
                }
            }
        };
    }
    copies!(NoChunk, NONE, 3, 1);
    copies!(NoDepth, 4, NONE, 1);
    copies!(NoShape, 4, 3, NONE);
    copies!(HugeShape, 4, 3, HUGE);
    copies!(HugeChunk, HUGE, 3, 2);

    /// An error that does not depend on a run's arguments is returned by `new`.
    #[test]
    fn are_checked_by_new() {
        let device = device();
        let errors = leaves_nothing(&device, || {
            [
                NoChunk::new(&device).unwrap_err(),
                NoDepth::new(&device).unwrap_err(),
                NoShape::new(&device).unwrap_err(),
                HugeShape::new(&device).unwrap_err(),
            ]
        });
        is!(errors[0], ChunkZero);
        is!(errors[1], DepthZero);
        is!(errors[2], ItemSize { buffer: "x", per_item: 0 });
        is!(errors[3], ItemSize { buffer: "x", per_item: HUGE });
        let names = errors.map(|error| error.place().pipeline.unwrap());
        assert_eq!(names, ["NoChunk", "NoDepth", "NoShape", "HugeShape"]);
    }

    /// A chunk that no memory could hold is cut to the run's length.
    #[test]
    fn a_huge_chunk_is_one_chunk() {
        let (x, mut y) = ([1, 2, 3, 4, 5, 6], [0; 6]);
        let report = HugeChunk::new(&device()).unwrap().run(&x, &mut y).unwrap();
        assert_eq!((y, report.items, report.chunks), (x, 3, 1));
    }
}

mod memory {
    use super::*;

    stream_pipeline! {
        pipeline Fixed { // at: memory::Fixed
            input x: [u8];
            output y: [u8];
            chunk c = 1000;
            depth = 3;
            stage all { copy x -> dx; copy dx -> dy; copy dy -> y; }
        }
    }

    stream_pipeline! {
        pipeline Flexible { // at: memory::Flexible
            param items: usize;
            input x: [u8];
            output y: [u8];
            chunk c = items;
            depth = 2;
            stage all { copy x -> d; copy d -> y; }
        }
    }

    /// The slots of a chunk of 1,000 take 1,024 bytes each, since slots are aligned.
    #[test]
    fn of_the_device_at_new() {
        let device = small(Simulation::default().with_memory(5 * 1024));
        let error = leaves_nothing(&device, || Fixed::new(&device).unwrap_err());
        is!(error, OutOfDeviceMemory { what, requested: 3072, free: 2048 } if what == "`dy`");
        HERE.is_of_pipeline(&error, "Fixed", "memory::Fixed");
        assert_eq!(says(&error), "device memory is exhausted: `dy` needs 3072 bytes, 2048 are free");
        leaves_nothing(&device, || drop(Fixed::options(&device).depth(2).build().unwrap()));
    }

    #[test]
    fn of_the_device_at_run() {
        let device = small(Simulation::default().with_memory(5 * 1024));
        leaves_nothing(&device, || {
            let mut pipeline = Flexible::new(&device).unwrap();
            let (x, mut y) = (vec![7; 9000], vec![0; 9000]);
            let error = pipeline.run(4000, &x, &mut y).unwrap_err();
            is!(error, OutOfDeviceMemory { what, requested: 8192, free: 5120 } if what == "`d`");
            HERE.is_of_pipeline(&error, "Flexible", "memory::Flexible");
            assert!(error.complete().is_empty());
            assert_eq!(y, vec![0; 9000]);

            pipeline.run(2000, &x, &mut y).unwrap();
            assert_eq!(y, x);
            // With a ring in place, one that does not fit fails too, and leaves the pipeline usable.
            pipeline.run(4000, &x, &mut y).unwrap_err();
            pipeline.run(100, &x, &mut y).unwrap();
        });
    }

    #[test]
    fn of_the_host_for_staging() {
        let device = device();
        leaves_nothing(&device, || {
            let mut pipeline = Flexible::new(&device).unwrap();
            let (x, mut y) = (vec![7; 3 * PINNED], vec![0; 3 * PINNED]);
            let error = pipeline.run(PINNED, &x, &mut y).unwrap_err();
            let expected = 2 * PINNED as u64;
            is!(
                error,
                OutOfPinnedMemory { what, requested }
                    if what == "staging `copy x -> d`" && *requested == expected
            );
            HERE.is_of_pipeline(&error, "Flexible", "memory::Flexible");
            assert_eq!(
                says(&error),
                "page-locked host memory is exhausted: staging `copy x -> d` needs 2097152 bytes"
            );
            pipeline.run(PINNED / 8, &x, &mut y).unwrap();
            assert_eq!(y, x);
        });
    }

    #[test]
    fn of_a_pinned_buffer() {
        let device = device();
        leaves_nothing(&device, || {
            let too_long = PinnedBuf::<f32>::zeroed(&device, PINNED / 4 + 1).unwrap_err();
            let expected = PINNED as u64 + 4;
            is!(too_long, OutOfPinnedMemory { requested, .. } if *requested == expected);
            assert_eq!(too_long.place().pipeline, None);
            assert_eq!(
                too_long.kind().to_string(),
                "page-locked host memory is exhausted: a `PinnedBuf` needs 1048580 bytes"
            );
            for len in [usize::MAX, usize::MAX / 4, isize::MAX as usize / 4] {
                is!(PinnedBuf::<f32>::zeroed(&device, len).unwrap_err(), OutOfPinnedMemory { .. });
            }
        });
    }
}
