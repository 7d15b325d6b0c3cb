//! `out` promises that a kernel writes every element, and the simulated device checks the promise.

use std::sync::atomic::{AtomicUsize, Ordering};

use thalweg::__private::Detail;
use thalweg::Options;
use thalweg::explore::explore;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg_tests::book::{in_listing, recorded};
use thalweg_tests::{numbers, pinned};

#[kernels("../../cu/square.cu")]
unsafe extern "CUDA" {
    /// `y[i] = x[i] * x[i]`, one thread an element.
    #[host(square_thread)]
    safe fn square(n: u32, x: &[f32], y: Out<[f32]>);
    /// The same by any grid, except for one element. It counts its runs.
    #[host(square_but_hole)]
    safe fn square_but(n: u32, hole: u32, x: &[f32], y: Out<[f32]>, runs: &mut [u32]);
    /// One sum a block.
    #[host(shares_of_blocks)]
    safe fn shares(n: u32, parts: u32, x: &[f32], sums: Out<[f32]>);
    /// `y[i] = !x[i]`, one thread an element.
    #[host(negate_thread)]
    safe fn negate(n: u32, x: &[u8], y: Out<[u8]>);
}

fn square_thread(t: Thread, n: u32, x: &[f32], y: &mut [f32]) {
    let i = t.global_x();
    if i < n as usize {
        y[i] = x[i] * x[i];
    }
}

fn square_but_hole(_: Grid, n: u32, hole: u32, x: &[f32], y: &mut [f32], runs: &mut [u32]) {
    runs[0] += 1;
    for i in (0..n as usize).filter(|&i| i != hole as usize) {
        y[i] = x[i] * x[i];
    }
}

fn shares_of_blocks(grid: Grid, n: u32, parts: u32, x: &[f32], sums: &mut [f32]) {
    for (block, sum) in sums.iter_mut().enumerate().take(grid.grid_dim[0].min(parts) as usize) {
        *sum = x[..n as usize].iter().skip(block).step_by(parts as usize).sum();
    }
}

static NEGATED: AtomicUsize = AtomicUsize::new(0);

fn negate_thread(t: Thread, n: u32, x: &[u8], y: &mut [u8]) {
    let i = t.global_x();
    if i == 0 {
        NEGATED.fetch_add(1, Ordering::Relaxed);
    }
    if i < n as usize {
        y[i] = !x[i];
    }
}

/// A kernel of the same source, with a host body for the whole grid.
mod at_once {
    use thalweg::prelude::*;

    #[kernels("../../cu/square.cu")]
    unsafe extern "CUDA" {
        #[host(square_grid)]
        pub safe fn square(n: u32, x: &[f32], y: Out<[f32]>);
    }

    fn square_grid(grid: Grid, n: u32, x: &[f32], y: &mut [f32]) {
        let threads = (grid.grid_dim[0] * grid.block_dim[0]).min(n) as usize;
        for (y, x) in y[..threads].iter_mut().zip(x) {
            *y = x * x;
        }
    }
}

/// The figures in an error of a launch: elements, unwritten, first, grid, block and the grid that would do.
type Said = (usize, usize, usize, u32, u32, Option<u32>);

#[track_caller]
fn assert_unwritten(error: &Error, chunk: u64, expected: Said) {
    let &Detail::Unwritten { elements, unwritten, first, grid, block, enough, .. } = error.detail() else {
        panic!("{error}");
    };
    assert_eq!((elements, unwritten, first, grid[0], block[0], enough), expected, "{error}");
    assert_eq!(error.place().chunk, Some(chunk), "{error}");
    assert_eq!(error.place().stage, Some("work"), "{error}");
}

/// Devices that follow the order of time, and other orders.
fn devices() -> impl Iterator<Item = Device> {
    let spec = |seed| if seed == 0 { Simulation::default() } else { Simulation::default().adversarial(seed) };
    (0..4).map(move |seed| Device::simulated(spec(seed)))
}

macro_rules! squares {
    ($name:ident, $kernel:path, |$c:ident| $grid:expr) => {
        stream_pipeline! {
            pipeline $name {
                input x: [f32];
                output y: [f32];
                device dy: [f32];
                chunk $c = 1000;
                stage load { copy x -> dx; }
                stage work { $kernel<<<$grid, 256>>>($c.len as u32, &dx, out dy); }
                stage store { copy dy -> y; }
            }
        }
    };
}
squares!(TwoBlocks, square, |c| 2);
squares!(HalfAsMany, square, |c| blocks(c.len / 2, 256));
squares!(Enough, square, |c| blocks(c.len, 256));
squares!(TwoBlocksAtOnce, at_once::square, |c| 2);

/// Runs the pipeline in streams and in graphs, from and to both kinds of memory, and returns each answer.
macro_rules! every_way {
    ($device:expr, $pipeline:ident, $len:expr, $check:expr) => {
        for graph in [false, true] {
            let options: Options<$pipeline> = $pipeline::options($device);
            let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
            let x = numbers($len);
            // It runs twice, since a failed run leaves a pipeline usable.
            for _ in 0..2 {
                let mut y = vec![0.0; $len];
                let result = pipeline.run(&x, &mut y).map(drop);
                $check(result, y);
                let mut y = pinned($device, &numbers($len));
                let result = pipeline.run(&pinned($device, &x), &mut y).map(drop);
                $check(result, y.to_vec());
            }
        }
    };
}

#[test]
fn a_grid_that_is_too_small() {
    for device in devices() {
        every_way!(&device, TwoBlocks, 1000, |result: thalweg::Result<()>, _| {
            assert_unwritten(&result.unwrap_err(), 0, (1000, 488, 512, 2, 256, Some(4)));
        });
        every_way!(&device, HalfAsMany, 1000, |result: thalweg::Result<()>, _| {
            assert_unwritten(&result.unwrap_err(), 0, (1000, 488, 512, 2, 256, Some(4)));
        });
        every_way!(&device, TwoBlocksAtOnce, 1000, |result: thalweg::Result<()>, _| {
            assert_unwritten(&result.unwrap_err(), 0, (1000, 488, 512, 2, 256, Some(4)));
        });
    }
}

// ANCHOR: squares
stream_pipeline! {
    pipeline Squares {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage work { square<<<2, 256>>>(c.len as u32, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}
// ANCHOR_END: squares

/// The error names the operation's own line.
#[test]
fn what_it_says() {
    let device = Device::simulated(Simulation::default());
    let mut y = [0.0; 1000];
    let error = Squares::new(&device).unwrap().run(&[1.0; 1000], &mut y).unwrap_err();
    recorded("checking-unwritten.txt", &in_listing(&error, file!(), "squares"));
}

/// 1000 elements are four blocks; 5 elements are one block, most of whose threads have nothing to do.
#[test]
fn whole_ragged_and_no_chunks_are_written() {
    for device in devices() {
        for len in [0, 1, 5, 1000, 1001, 3005] {
            every_way!(&device, Enough, len, |result: thalweg::Result<()>, y: Vec<f32>| {
                result.unwrap();
                assert!(y.iter().zip(numbers(len)).all(|(y, x)| *y == x * x));
            });
        }
        // Chunks of 5 fit two blocks.
        every_way!(&device, TwoBlocks, 5, |result: thalweg::Result<()>, _| result.unwrap());
    }
}

stream_pipeline! {
    /// An item is four elements.
    pipeline Items {
        input x: [f32; 4];
        output y: [f32; 4];
        device dy: [f32; 4];
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage work { square<<<blocks(c.len, 256), 256>>>(4 * c.len as u32, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

#[test]
fn items_of_several_elements() {
    for device in devices() {
        every_way!(&device, Items, 4 * 2500, |result: thalweg::Result<()>, _| {
            assert_unwritten(&result.unwrap_err(), 0, (4000, 2976, 1024, 4, 256, Some(16)));
        });
    }
}

stream_pipeline! {
    /// The last chunk passes one element less.
    pipeline Ragged {
        input x: [f32];
        output y: [f32];
        device dy: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage work {
            square<<<blocks(c.len, 256), 256>>>((c.len - usize::from(c.len < 1000)) as u32, &dx, out dy);
        }
        stage store { copy dy -> y; }
    }
}

/// One element is found as well as many, and more threads do not help.
#[test]
fn the_last_element_of_the_last_chunk() {
    for device in devices() {
        every_way!(&device, Ragged, 2600, |result: thalweg::Result<()>, _| {
            assert_unwritten(&result.unwrap_err(), 2, (600, 1, 599, 3, 256, None));
        });
        every_way!(&device, Ragged, 2000, |result: thalweg::Result<()>, _| result.unwrap());
    }
}

stream_pipeline! {
    pipeline Branches {
        param small: usize;
        param rounds: usize;
        input x: [f32] halo 1 = clamp;
        output y: [f32];
        device dy: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage work {
            if c.index == small {
                square<<<1, 256>>>(c.len as u32, &dx, out dy);
            } else {
                square<<<blocks(c.len, 256), 256>>>(c.len as u32, &dx, out dy);
            }
            repeat rounds { square<<<3, 256>>>(c.len as u32, &dx, out dy); }
        }
        stage store { copy dy -> y; }
    }
}

/// A launch that a branch leaves out, or that is repeated zero times, is not checked. A halo is read, not
/// written.
#[test]
fn in_branches_repetitions_and_with_halos() {
    for device in devices() {
        for graph in [false, true] {
            let options = Branches::options(&device);
            let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
            let mut run = |small, rounds| {
                let mut y = vec![0.0; 3000];
                pipeline.run(small, rounds, &numbers(3000), &mut y).map(drop)
            };
            run(9, 0).unwrap();
            assert_unwritten(&run(1, 0).unwrap_err(), 1, (1000, 744, 256, 1, 256, Some(4)));
            assert_unwritten(&run(9, 2).unwrap_err(), 0, (1000, 232, 768, 3, 256, Some(4)));
        }
    }
}

stream_pipeline! {
    pipeline Shares {
        param grid: u32;
        input x: [f32];
        output sums: [f32; 8] per chunk;
        device parts: [f32; 8] per chunk;
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage work { shares<<<grid, 64>>>(c.len as u32, 8, &dx, out parts); }
        stage store { copy parts -> sums; }
    }
}

/// If each block writes one element, there must be as many blocks as elements.
#[test]
fn results_by_chunk() {
    for device in devices() {
        let mut pipeline = Shares::new(&device).unwrap();
        let mut sums = [0.0; 24];
        pipeline.run(8, &[1.0; 2500], &mut sums).unwrap();
        assert_eq!(sums.iter().sum::<f32>(), 2500.0);
        let error = pipeline.run(2, &[1.0; 2500], &mut sums).unwrap_err();
        assert_unwritten(&error, 0, (8, 6, 2, 2, 64, Some(8)));
    }
}

/// Launches by hand are checked too, since the promise is the kernel's.
#[test]
fn on_streams_by_hand() {
    let device = Device::simulated(Simulation::default());
    let (stream, square) = (Stream::new(&device).unwrap(), square::load(&device).unwrap());
    let x = DeviceBuf::from_slice(&device, &numbers(1000)).unwrap();
    let mut y = DeviceBuf::zeroed(&device, 1000).unwrap();
    square.launch(stream.config(4, 256, 0), 1000, &x, &mut y).unwrap();
    stream.synchronize().unwrap();
    square.launch(stream.config(2, 256, 0), 1000, &x, &mut y).unwrap();
    let error = stream.synchronize().unwrap_err();
    let &Detail::Unwritten { kernel, elements, unwritten, first, enough, .. } = error.detail() else {
        panic!("{error}");
    };
    assert_eq!((kernel, elements, unwritten, first, enough), ("square", 1000, 488, 512, Some(4)));
    assert!(error.place().site.is_some_and(|site| site.file.ends_with("unwritten.rs")), "{error}");
}

/// The host body is called once more to be sure of a single element; its effects on other memory are undone.
#[test]
fn one_element_in_the_middle() {
    let device = Device::simulated(Simulation::default());
    let (stream, square_but) = (Stream::new(&device).unwrap(), square_but::load(&device).unwrap());
    let x = DeviceBuf::from_slice(&device, &numbers(1000)).unwrap();
    let mut y = DeviceBuf::zeroed(&device, 1000).unwrap();
    let mut runs = pinned(&device, &[0_u32]);
    square_but.launch(stream.config(1, 32, 0), 1000, 1000, &x, &mut y, &mut runs).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(runs[0], 1);
    square_but.launch(stream.config(1, 32, 0), 1000, 77, &x, &mut y, &mut runs).unwrap();
    let error = stream.synchronize().unwrap_err();
    let &Detail::Unwritten { unwritten: 1, first: 77, enough: None, .. } = error.detail() else {
        panic!("{error}");
    };
}

stream_pipeline! {
    pipeline Negate {
        param grid: u32;
        input x: [u8];
        output y: [u8];
        device dy: [u8];
        chunk c = 1 << 16;
        stage load { copy x -> dx; }
        stage work { negate<<<grid, 1024>>>(c.len as u32, &dx, out dy); }
        stage store { copy dy -> y; }
    }
}

/// Once in 256 times a byte that was written had that value before, and this is no reason to call again.
#[test]
fn bytes() {
    let device = Device::simulated(Simulation::default());
    let mut pipeline = Negate::new(&device).unwrap();
    let x: Vec<u8> = (0..1_u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut y = vec![0; x.len()];
    for _ in 0..4 {
        pipeline.run(64, &x, &mut y).unwrap();
        assert!(x.iter().zip(&y).all(|(x, y)| *y == !x));
    }
    assert_eq!(NEGATED.load(Ordering::Relaxed), 4 * 16);
    let error = pipeline.run(63, &x, &mut y).unwrap_err();
    assert_unwritten(&error, 0, (1 << 16, 1024, 63 << 10, 63, 1024, Some(64)));
}

#[test]
fn in_any_order() {
    let result = explore(7, 20, |device| {
        let mut y = [0.0; 1000];
        TwoBlocks::new(device)?.run(&[1.0; 1000], &mut y).map(drop)
    });
    assert!(result.is_err());
}
