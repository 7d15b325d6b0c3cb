//! Launches that fail: the error, its place, what is complete, and that the pipeline works afterwards.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg::prelude::*;
use thalweg_tests::errors::{Source, says};
use thalweg_tests::kernels::{REFUSED, bounded, refuses, through_shared, without_host_body};
use thalweg_tests::{is, leaves_nothing, numbers, small, written};

const HERE: Source = Source { file: file!(), text: include_str!("bad_launches.rs") };

fn device() -> Device {
    small(Simulation::default())
}

stream_pipeline! {
    pipeline Limited { // at: Limited
        param grid: (i64, u64);
        param block: (usize, i32);
        param shared: u32;
        inout y: [f32];
        chunk c = 4;
        stage load { copy y -> dy; }
        stage add {
            bounded<<<grid, block, shared>>>(c.len as u32, &mut dy); // at: add
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
        // The block is within CUDA's limit, but not within the kernel's own `__launch_bounds__(64)`.
        ((1, 1), (65, 1), 0, "threads per block", 65, 64),
        ((1, 1), (33, 2), 0, "threads per block", 66, 64),
    ];
    for (grid, block, shared, name, number, most) in cases {
        leaves_nothing(&device, || {
            let mut pipeline = Limited::new(&device).unwrap();
            let mut y = [1.0; 10];
            let error = pipeline.run(grid, block, shared, &mut y).unwrap_err();
            is!(
                error,
                LaunchLimit { kernel: "bounded", what, value, limit, swapped: None }
                    if (*what, *value, *limit) == (name, number, most)
            );
            HERE.is_of_operation(&error, "Limited", "add: bounded<<<..>>>", Some(0), "add");
            let rule = if number < most { "it must be at least" } else { "the limit is" };
            assert_eq!(
                says(&error),
                format!("kernel `bounded` cannot be launched: {name} is {number}, but {rule} {most}")
            );
            assert_eq!((error.complete()[0].host, error.complete()[0].chunks), ("y", 0));
            assert_eq!(y, [1.0; 10]);

            pipeline.run((1, 1), (64, 1), max_shared, &mut y).unwrap();
            assert_eq!(y, [2.0; 10]);
        });
    }
}

/// The error of a launch whose grid and block are probably swapped asks whether they are.
#[test]
fn grid_and_block_swapped() {
    let device = device();
    let mut pipeline = Limited::new(&device).unwrap();
    let mut said = |grid, block| {
        let error = pipeline.run(grid, block, 0, &mut [1.0; 10]).unwrap_err();
        is!(error, LaunchLimit { kernel: "bounded", limit: 1024 | 64, .. });
        error.kind().to_string()
    };
    let swapped = "kernel `bounded` cannot be launched: block.x is 19532, but the limit is 1024\n  \
                   help: the grid comes first: were grid (64, 1, 1) and block (19532, 1, 1) swapped?";
    assert_eq!(said((64, 1), (19_532, 1)), swapped);
    // None of these would fit the other way round: the kernel takes at most 64 threads, and 48 is not a
    // multiple of a warp.
    for grid in [(128, 1), (48, 1), (1, 1)] {
        let plain = "kernel `bounded` cannot be launched: block.x is 19532, but the limit is 1024";
        assert_eq!(said(grid, (19_532, 1)), plain);
    }
    let swapped = "kernel `bounded` cannot be launched: threads per block is 100, but the limit is 64\n  \
                   help: the grid comes first: were grid (8, 4, 1) and block (100, 1, 1) swapped?";
    assert_eq!(said((8, 4), (100, 1)), swapped);
}

#[test]
fn more_shared_memory_than_a_block_may_have() {
    let device = device();
    let mut pipeline = Limited::new(&device).unwrap();
    let mut y = [1.0; 10];
    let error = pipeline.run((1, 1), (4, 1), (227 << 10) + 1, &mut y).unwrap_err();
    is!(error, SharedMemory { kernel: "bounded", dynamic: 232_449, fixed: 0, limit: 232_448 });
    HERE.is_of_operation(&error, "Limited", "add: bounded<<<..>>>", Some(0), "add");
    assert_eq!(
        says(&error),
        "kernel `bounded` cannot be launched: it needs 232449 bytes of shared memory (232449 of the launch and 0 that \
         the kernel declares), but the limit is 232448"
    );
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
            refuses<<<1, 32>>>(n(c.index, c.len), &dx, out dy); // at: refuses
        }
        stage store { copy dy -> y; }
    }
}

/// The way in which [`Refuses`] fails.
fn all(_: usize, len: usize) -> u32 {
    len as u32
}

/// Checks that `y` is right as far as the error says, and untouched if no chunk was enqueued.
#[track_caller]
fn is_complete(error: &Error, x: &[i32], y: &[i32], chunks: u64) {
    let [complete] = error.complete() else { panic!("{error:?}") };
    assert_eq!((complete.host, complete.items), ("y", x.len().min(5 * complete.chunks as usize)));
    assert!(complete.chunks <= chunks, "{error}");
    assert!(y.iter().zip(x).take(complete.items).all(|(y, x)| *y == x + 1));
    let arrived = match complete.chunks {
        0 => "nothing of `y` has arrived".to_owned(),
        1 => "the first chunk of `y` (5 items) has arrived".to_owned(),
        n => format!("the first {n} chunks of `y` ({} items) have arrived", complete.items),
    };
    assert!(error.to_string().ends_with(&format!("\n  {arrived}")), "{error}");
}

fn runs_well(pipeline: &mut Refuses) {
    let (x, mut y) = ([5; 23], [0; 23]);
    pipeline.run(all, &x, &mut y).unwrap();
    assert_eq!(y, [6; 23]);
}

/// Runs in the order of time and in many orders, into pageable and page-locked memory.
fn on_many_devices(check: impl Fn(&Device, bool)) {
    let specs = (0..20).map(|seed| Simulation::default().adversarial(seed)).chain([Simulation::default()]);
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
        let (error, y) =
            written!(device, into_pinned, vec![-1; 23], |y| { pipeline.run(too_many, &x, y).unwrap_err() });
        is!(error, Requires { kernel: "refuses", condition: "n as usize <= x.len()", .. });
        HERE.is_of_operation(&error, "Refuses", "add: refuses<<<..>>>", Some(2), "refuses");
        assert_eq!(says(&error), "kernel `refuses` requires `n as usize <= x.len()` (n = 6, x.len() = 5)");
        // Enqueueing stopped, but the enqueued operations went on: exactly the two chunks before are
        // complete.
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
            let (error, y) =
                written!(device, into_pinned, vec![-1; 23], |y| { pipeline.run(all, &x, y).unwrap_err() });
            is!(
                error,
                HostBody { kernel: "refuses", message } if message.contains("element 1 is refused")
            );
            let at = Some(bad as u64);
            HERE.is_of_operation(&error, "Refuses", "add: refuses<<<..>>>", at, "refuses");
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
                without_host_body<<<1, 1>>>(&mut dy); // at: bodiless
            }
            stage store { copy dy -> y; }
        }
    }
    let device = device();
    let error = leaves_nothing(&device, || Bodiless::new(&device).unwrap_err());
    is!(error, NoHostBody { kernel: "without_host_body", .. });
    HERE.is_of_operation(&error, "Bodiless", "work: without_host_body<<<..>>>", None, "bodiless");
    assert_eq!(
        says(&error),
        "kernel `without_host_body` has no host body for the simulated device: \
         add `#[host(…)]` to its declaration, or write the kernel in Rust"
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
                through_shared<<<1, 8, 4 * 7>>>(c.len as u32, &dx, out dy); // at: shared
                copy dy -> y;
            }
        }
    }
    let device = device();
    let mut y = [0.0; 8];
    let error = Shared::new(&device).unwrap().run(&numbers(8), &mut y).unwrap_err();
    is!(error, HostBody { kernel: "through_shared", .. });
    HERE.is_of_operation(&error, "Shared", "all: through_shared<<<..>>>", Some(0), "shared");
}
