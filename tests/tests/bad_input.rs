//! Everything that a user can get wrong at run time: the error, its place, and that the pipeline works afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::kernels::{REFUSED, bounded, refuses, sum_rows, through_shared, without_host_body};
use thalweg_tests::{PINNED, leaves_nothing, numbers, pinned, small, written};

/// The line of this file that ends in `// at: mark`.
fn line(mark: &str) -> u32 {
    let mark = format!("// at: {mark}");
    let mut lines = include_str!("bad_input.rs").lines().zip(1..).filter(|(text, _)| text.ends_with(&mark));
    let (_, line) = lines.next().expect("the mark exists");
    assert_eq!(lines.next(), None, "the mark is unique");
    line
}

/// Checks that the error belongs to the pipeline as a whole or, by its mark, to one of its declarations.
#[track_caller]
fn is_of_pipeline(error: &Error, pipeline: &str, mark: &str) {
    let place = error.place();
    assert_eq!((place.pipeline, place.stage, place.operation), (Some(pipeline), None, None));
    assert_eq!(place.chunk, None);
    is_at(error, mark);
}

/// Checks that the error belongs to an operation, `stage: operation`, of one chunk.
#[track_caller]
fn is_of_operation(error: &Error, pipeline: &str, operation: &str, chunk: Option<u64>, mark: &str) {
    let place = error.place();
    let known = format!("{}: {}", place.stage.unwrap(), place.operation.unwrap());
    assert_eq!((place.pipeline, &known[..], place.chunk), (Some(pipeline), operation, chunk));
    is_at(error, mark);
}

#[track_caller]
fn is_at(error: &Error, mark: &str) {
    let site = error.place().site.unwrap();
    assert!(site.file.ends_with("bad_input.rs"), "{site}");
    assert_eq!(site.line, line(mark), "{error}");
    assert!(error.to_string().contains(&format!("\n  at {site}")), "{error}");
}

/// What the error says, without the place.
fn says(error: &Error) -> String {
    error.to_string().lines().next().unwrap().to_owned()
}

/// Checks the kind of an error: its variant and fields.
macro_rules! is {
    ($error:expr, $($kind:tt)+) => {
        assert!(matches!($error.kind(), ErrorKind::$($kind)+), "{:?}", $error)
    };
}

fn device() -> Device {
    small(Spec::default())
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
            stage axpy { saxpy<<<1, 256>>>(c.len as u32, a, &dx, &mut dy); }
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
            is_of_pipeline(&error, "Saxpy", "lengths::y");
            let site = error.place().site.unwrap();
            assert_eq!(
                error.to_string(),
                format!("`y` has 9 items, but `x` has 10\n  in pipeline `Saxpy`\n  at {site}"),
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
            let error = pipeline.run(1.0, &foreign, &mut [0.0; 6]).unwrap_err();
            is!(error, OtherDevice { host: "x" });
            is_of_pipeline(&error, "Saxpy", "lengths::x");
            assert_eq!(says(&error), "`x` was allocated for another device");

            let mut y = [0.0; 6];
            pipeline.run(1.0, &own, &mut y).unwrap();
            assert_eq!(y, [1.0; 6]);
        });
    }

    #[test]
    fn a_chunk_of_nothing() {
        let device = device();
        let error = leaves_nothing(&device, || Saxpy::options(&device).chunk(0).build().unwrap_err());
        is!(error, ChunkZero);
        is_of_pipeline(&error, "Saxpy", "lengths::Saxpy");
        assert_eq!(says(&error), "a chunk must have at least 1 item");
    }

    #[test]
    fn a_ring_of_no_slots_or_too_many() {
        let device = device();
        let build =
            |depth| leaves_nothing(&device, || Saxpy::options(&device).depth(depth).build().map(drop));
        let error = build(0).unwrap_err();
        is!(error, DepthZero);
        is_of_pipeline(&error, "Saxpy", "lengths::Saxpy");
        assert_eq!(says(&error), "the depth must be at least 1 slot");

        let error = build(1025).unwrap_err();
        is!(error, DepthTooLarge { depth: 1025, limit: 1024 });
        is_of_pipeline(&error, "Saxpy", "lengths::Saxpy");
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
        is_of_pipeline(&error, "SumRows", "shapes::rows");
        assert_eq!(says(&error), "`rows` has 10 elements, which is no multiple of 3 elements an item");
    }

    #[test]
    fn no_elements_an_item() {
        let of_input = error(0, 2, 4, &[], &mut []);
        is!(of_input, ItemSize { buffer: "rows", per_item: 0 });
        is_of_pipeline(&of_input, "SumRows", "shapes::rows");
        assert_eq!(
            says(&of_input),
            "`rows` has 0 elements an item: at least 1 and a size that fits memory are needed"
        );
        let of_output = error(3, 0, 4, &numbers(6), &mut [0.0; 4]);
        is!(of_output, ItemSize { buffer: "sums", per_item: 0 });
        is_of_pipeline(&of_output, "SumRows", "shapes::sums");
    }

    #[test]
    fn items_larger_than_memory() {
        for k in [usize::MAX, usize::MAX / 4 + 1, isize::MAX as usize / 4 + 1] {
            let error = error(k, 2, 4, &[], &mut []);
            is!(error, ItemSize { buffer: "rows", per_item } if *per_item == k);
            is_of_pipeline(&error, "SumRows", "shapes::rows");
        }
        // As large as an item may be, but there is none: nothing to do, and no memory to find.
        let mut pipeline = SumRows::new(&device()).unwrap();
        let report = pipeline.run(isize::MAX as usize / 4, 2, usize::MAX, &[], &mut []).unwrap();
        assert_eq!((report.items, report.chunks), (0, 0));
    }

    #[test]
    fn copies_of_different_shapes() {
        let error = error(3, 1, 4, &numbers(6), &mut [0.0; 2]);
        is!(error, CopyShape { from: "d_sums", from_per_item: 2, to: "sums", to_per_item: 1 });
        is_of_operation(&error, "SumRows", "store: copy d_sums -> sums", None, "shapes::store");
        assert_eq!(says(&error), "`d_sums` has 2 elements an item, but `sums` has 1");
    }

    #[test]
    fn a_chunk_of_nothing() {
        let error = error(3, 2, 0, &numbers(6), &mut [0.0; 4]);
        is!(error, ChunkZero);
        is_of_pipeline(&error, "SumRows", "shapes::SumRows");
    }

    /// Elements of no bytes are elements.
    #[test]
    fn elements_of_no_size() {
        stream_pipeline! {
            pipeline Nothing {
                input x: [()];
                output y: [()];
                chunk c = usize::MAX / 2;
                depth = 1;
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

    /// What does not depend on a run's arguments is an error of `new`.
    #[test]
    fn are_checked_by_new() {
        let device = device();
        let errors = leaves_nothing(&device, || {
            [
                NoChunk::new(&device).unwrap_err(),
                NoDepth::new(&device).unwrap_err(),
                NoShape::new(&device).unwrap_err(),
                HugeShape::new(&device).unwrap_err(),
                HugeChunk::new(&device).unwrap_err(),
            ]
        });
        is!(errors[0], ChunkZero);
        is!(errors[1], DepthZero);
        is!(errors[2], ItemSize { buffer: "x", per_item: 0 });
        is!(errors[3], ItemSize { buffer: "x", per_item: HUGE });
        is!(errors[4], OutOfDeviceMemory { requested: u64::MAX, .. });
        let names = errors.map(|error| error.place().pipeline.unwrap());
        assert_eq!(names, ["NoChunk", "NoDepth", "NoShape", "HugeShape", "HugeChunk"]);
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
        let device = small(Spec::default().with_memory(5 * 1024));
        let error = leaves_nothing(&device, || Fixed::new(&device).unwrap_err());
        is!(error, OutOfDeviceMemory { what, requested: 3072, free: 2048 } if what == "`dy`");
        is_of_pipeline(&error, "Fixed", "memory::Fixed");
        assert_eq!(says(&error), "device memory is exhausted: `dy` needs 3072 bytes, 2048 are free");
        leaves_nothing(&device, || drop(Fixed::options(&device).depth(2).build().unwrap()));
    }

    #[test]
    fn of_the_device_at_run() {
        let device = small(Spec::default().with_memory(5 * 1024));
        leaves_nothing(&device, || {
            let mut pipeline = Flexible::new(&device).unwrap();
            let (x, mut y) = (vec![7; 9000], vec![0; 9000]);
            let error = pipeline.run(4000, &x, &mut y).unwrap_err();
            is!(error, OutOfDeviceMemory { what, requested: 8192, free: 5120 } if what == "`d`");
            is_of_pipeline(&error, "Flexible", "memory::Flexible");
            assert!(error.complete().is_empty());
            assert_eq!(y, vec![0; 9000]);

            pipeline.run(2000, &x, &mut y).unwrap();
            assert_eq!(y, x);
            // With a ring in place, one that does not fit fails, and leaves the pipeline usable too.
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
            is_of_pipeline(&error, "Flexible", "memory::Flexible");
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
                too_long.to_string(),
                "page-locked host memory is exhausted: a `PinnedBuf` needs 1048580 bytes"
            );
            for len in [usize::MAX, usize::MAX / 4, isize::MAX as usize / 4] {
                is!(PinnedBuf::<f32>::zeroed(&device, len).unwrap_err(), OutOfPinnedMemory { .. });
            }
        });
    }
}

mod launches {
    use super::*;

    stream_pipeline! {
        pipeline Limited { // at: launches::Limited
            param grid: (i64, u64);
            param block: (usize, i32);
            param shared: u32;
            inout y: [f32];
            chunk c = 4;
            stage load { copy y -> dy; }
            stage add {
                bounded<<<grid, block, shared>>>(c.len as u32, &mut dy); // at: launches::add
            }
            stage store { copy dy -> y; }
        }
    }

    #[test]
    fn outside_limits() {
        let device = device();
        let max_shared = 227 << 10;
        let cases = [
            ((0, 1), (4, 1), 0, "grid.x", 0, 1),
            ((-1, 1), (4, 1), 0, "grid.x", 0, 1),
            ((1 << 31, 1), (4, 1), 0, "grid.x", 1 << 31, (1 << 31) - 1),
            ((i64::MAX, 1), (4, 1), 0, "grid.x", u64::from(u32::MAX), (1 << 31) - 1),
            ((1, 65_536), (4, 1), 0, "grid.y", 65_536, 65_535),
            ((1, 1), (0, 1), 0, "block.x", 0, 1),
            ((1, 1), (4, -7), 0, "block.y", 0, 1),
            ((1, 1), (1025, 1), 0, "block.x", 1025, 1024),
            // Within CUDA's limit, but not within the kernel's own `__launch_bounds__(64)`.
            ((1, 1), (65, 1), 0, "threads per block", 65, 64),
            ((1, 1), (33, 2), 0, "threads per block", 66, 64),
            ((1, 1), (4, 1), max_shared + 1, "shared memory in bytes", 232_449, 232_448),
        ];
        for (grid, block, shared, name, number, most) in cases {
            leaves_nothing(&device, || {
                let mut pipeline = Limited::new(&device).unwrap();
                let mut y = [1.0; 10];
                let error = pipeline.run(grid, block, shared, &mut y).unwrap_err();
                is!(
                    error,
                    LaunchLimit { kernel: "bounded", what, value, limit }
                        if (*what, *value, *limit) == (name, number, most)
                );
                is_of_operation(&error, "Limited", "add: bounded<<<..>>>", Some(0), "launches::add");
                assert_eq!(
                    says(&error),
                    format!(
                        "kernel `bounded` cannot be launched: {name} is {number}, but the limit is {most}"
                    )
                );
                assert_eq!((error.complete()[0].host, error.complete()[0].chunks), ("y", 0));
                assert_eq!(y, [1.0; 10]);

                pipeline.run((1, 1), (64, 1), max_shared, &mut y).unwrap();
                assert_eq!(y, [2.0; 10]);
            });
        }
    }

    stream_pipeline! {
        pipeline Refuses {
            param n: fn(usize, usize) -> u32;
            input x: [i32];
            output y: [i32];
            device dy: [i32];
            chunk c = 5;
            depth = 2;
            stage load { copy x -> dx; }
            stage add {
                refuses<<<1, 32>>>(n(c.index, c.len), &dx, out dy); // at: launches::refuses
            }
            stage store { copy dy -> y; }
        }
    }

    /// What [`Refuses`] is to do.
    fn all(_: usize, len: usize) -> u32 {
        len as u32
    }

    /// Checks that `y` is right as far as the error says, and not touched where no chunk was enqueued.
    #[track_caller]
    fn is_complete(error: &Error, x: &[i32], y: &[i32], chunks: u64) {
        let [complete] = error.complete() else { panic!("{error:?}") };
        assert_eq!((complete.host, complete.items), ("y", x.len().min(5 * complete.chunks as usize)));
        assert!(complete.chunks <= chunks, "{error}");
        assert!(y.iter().zip(x).take(complete.items).all(|(y, x)| *y == x + 1));
        assert!(error.to_string().ends_with(&format!(
            "\n  `y` is complete up to chunk {}, exclusive ({} items)",
            complete.chunks, complete.items
        )));
    }

    fn runs_well(pipeline: &mut Refuses) {
        let (x, mut y) = ([5; 23], [0; 23]);
        pipeline.run(all, &x, &mut y).unwrap();
        assert_eq!(y, [6; 23]);
    }

    /// In time and in many orders, into pageable and pinned memory.
    fn on_many_devices(check: impl Fn(&Device, bool)) {
        let specs = (0..20).map(|seed| Spec::default().adversarial(seed)).chain([Spec::default()]);
        for (number, spec) in specs.enumerate() {
            let device = small(spec);
            leaves_nothing(&device, || check(&device, number % 2 == 0));
        }
    }

    #[test]
    fn that_a_requirement_refuses() {
        fn too_many(chunk: usize, len: usize) -> u32 {
            len as u32 + (chunk == 2) as u32
        }
        on_many_devices(|device, into_pinned| {
            let mut pipeline = Refuses::new(device).unwrap();
            let x: Vec<i32> = (0..23).collect();
            let (error, y) = written!(device, into_pinned, vec![-1; 23], |y| {
                pipeline.run(too_many, &x, y).unwrap_err()
            });
            is!(error, Requires { kernel: "refuses", condition: "n as usize <= x.len()" });
            is_of_operation(&error, "Refuses", "add: refuses<<<..>>>", Some(2), "launches::refuses");
            assert_eq!(says(&error), "kernel `refuses` requires `n as usize <= x.len()`");
            // Enqueueing stopped, but what was enqueued went on: exactly the two chunks before are complete.
            is_complete(&error, &x, &y, 2);
            assert_eq!(error.complete()[0].chunks, 2);
            assert_eq!(y[10..], [-1; 13]);
            runs_well(&mut pipeline);
        });
    }

    #[test]
    fn whose_host_body_panics() {
        for bad in [0, 2, 4] {
            on_many_devices(|device, into_pinned| {
                let mut pipeline = Refuses::new(device).unwrap();
                let mut x: Vec<i32> = (0..23).collect();
                x[5 * bad + 1] = REFUSED;
                let (error, y) = written!(device, into_pinned, vec![-1; 23], |y| {
                    pipeline.run(all, &x, y).unwrap_err()
                });
                is!(
                    error,
                    HostBody { kernel: "refuses", message } if message.contains("element 1 is refused")
                );
                let at = Some(bad as u64);
                is_of_operation(&error, "Refuses", "add: refuses<<<..>>>", at, "launches::refuses");
                assert!(says(&error).starts_with("the host body of kernel `refuses` panicked: assertion"));
                is_complete(&error, &x, &y, bad as u64);
                runs_well(&mut pipeline);
            });
        }
    }

    #[test]
    fn whose_argument_panics() {
        fn panics(chunk: usize, len: usize) -> u32 {
            assert_ne!(chunk, 3, "no fourth chunk");
            len as u32
        }
        on_many_devices(|device, into_pinned| {
            let mut pipeline = Refuses::new(device).unwrap();
            let x: Vec<i32> = (0..23).collect();
            let (panic, y) = written!(device, into_pinned, vec![-1; 23], |y| {
                catch_unwind(AssertUnwindSafe(|| pipeline.run(panics, &x, y))).unwrap_err()
            });
            assert!(panic.downcast_ref::<String>().unwrap().contains("no fourth chunk"));
            // Three chunks were enqueued before the panic, and nothing is in flight after it.
            assert_eq!(y[..15], x[..15].iter().map(|x| x + 1).collect::<Vec<_>>());
            assert_eq!(y[15..], [-1; 8]);
            runs_well(&mut pipeline);
        });
    }

    #[test]
    fn without_a_host_body() {
        stream_pipeline! {
            pipeline Bodiless {
                inout y: [f32];
                chunk c = auto;
                stage load { copy y -> dy; }
                stage work {
                    without_host_body<<<1, 1>>>(&mut dy); // at: launches::bodiless
                }
                stage store { copy dy -> y; }
            }
        }
        let device = device();
        let error = leaves_nothing(&device, || Bodiless::new(&device).unwrap_err());
        is!(error, NoHostBody { kernel: "without_host_body" });
        is_of_operation(&error, "Bodiless", "work: without_host_body<<<..>>>", None, "launches::bodiless");
        assert_eq!(
            says(&error),
            "kernel `without_host_body` has no host body for the simulated device: \
             add `#[host(…)]` to its declaration"
        );
    }

    /// A body that asserts on its launch fails like one that asserts on its data.
    #[test]
    fn with_too_little_shared_memory() {
        stream_pipeline! {
            pipeline Shared {
                input x: [f32];
                output y: [f32];
                device dy: [f32];
                chunk c = 8;
                stage all {
                    copy x -> dx;
                    through_shared<<<1, 8, 4 * 7>>>(c.len as u32, &dx, out dy); // at: launches::shared
                    copy dy -> y;
                }
            }
        }
        let device = device();
        let mut y = [0.0; 8];
        let error = Shared::new(&device).unwrap().run(&numbers(8), &mut y).unwrap_err();
        is!(error, HostBody { kernel: "through_shared", .. });
        is_of_operation(&error, "Shared", "all: through_shared<<<..>>>", Some(0), "launches::shared");
    }
}
