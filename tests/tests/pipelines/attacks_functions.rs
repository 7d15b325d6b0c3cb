//! Attacks by functions on the host and callbacks that fail in odd ways, without `unsafe`, and on what a run
//! claims then.
//!
//! Run it under AddressSanitizer: `.ci/asan`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_tests::kernels::axpy_each;
use thalweg_tests::{leaves_nothing, numbers, pinned, small};

fn halve(x: &[i32], y: &mut [i32], fails: i32) -> Result<(), String> {
    if x[0] == fails {
        return Err(format!("{fails} is no good"));
    }
    y.iter_mut().zip(x).for_each(|(y, x)| *y = x / 2);
    Ok(())
}

fn twice(y: &[i32], z: &mut [i32]) {
    z.iter_mut().zip(y).for_each(|(z, y)| *z = 2 * y);
}

stream_pipeline! {
    /// The second function may reach a chunk after the first function has failed on a later one.
    pipeline Halved {
        param fails: i32;
        input x: [i32];
        output z: [i32];
        host hx: [i32];
        host hy: [i32];
        host hz: [i32];
        chunk c = 10;
        depth = 3;
        stage load { copy x -> dx; copy dx -> hx; }
        stage first { host halve(&hx, out hy, fails); }
        stage second { host twice(&hy, out hz); }
        stage store { copy hz -> dz; copy dz -> z; }
    }
}

/// A failed run claims exactly the results that a successful run would have written.
#[test]
fn claims_of_a_run_whose_function_failed() {
    let x: Vec<i32> = (0..200).map(|x| 2 * x).collect();
    let specs = (0..20).map(|seed| Simulation::default().adversarial(seed)).chain([Simulation::default()]);
    for (number, spec) in specs.enumerate() {
        for graph in [false, true] {
            let device = small(spec.clone());
            let options = Halved::options(&device);
            let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
            let mut z = vec![-1; x.len()];
            let mut in_pinned = pinned(&device, &z);
            let error = if number % 2 == 0 {
                let error = pipeline.run(200, &x, &mut in_pinned).unwrap_err();
                z.copy_from_slice(&in_pinned);
                error
            } else {
                pipeline.run(200, &x, &mut z).unwrap_err()
            };
            assert!(matches!(error.detail(), Detail::HostFunction { function: "halve", .. }), "{error}");
            let [complete] = error.complete() else { panic!("{error}") };
            assert_eq!(complete.items, complete.chunks as usize * 10);
            assert!(complete.chunks <= 10, "{error}");
            assert_eq!(z[..complete.items], x[..complete.items], "{error}");
        }
    }
}

/// Its clones panic when they are dropped; the parameter itself does not.
struct Bomb {
    is_clone: bool,
    dropped: Arc<AtomicUsize>,
}

impl Clone for Bomb {
    fn clone(&self) -> Self {
        Self { is_clone: true, dropped: Arc::clone(&self.dropped) }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        assert!(!self.is_clone, "on purpose");
    }
}

stream_pipeline! {
    pipeline Bombs {
        param bomb: Bomb;
        input x: [i32];
        output y: [i32];
        chunk c = 1;
        stage all { copy x -> dx; copy dx -> y; then |_c| { let _bomb = &bomb; }; }
    }
}

/// A value that a callback holds may panic when it is dropped, even if the callback is no longer called.
#[test]
fn callbacks_that_panic_when_they_are_dropped() {
    let device = small(Simulation::default());
    let dropped = Arc::new(AtomicUsize::new(0));
    let bomb = Bomb { is_clone: false, dropped: Arc::clone(&dropped) };
    let x: Vec<i32> = (0..20).collect();
    let mut y = vec![0; 20];
    let outcome =
        catch_unwind(AssertUnwindSafe(|| Bombs::new(&device).unwrap().run(bomb, &x, &mut y).map(drop)));
    let error = outcome.unwrap().unwrap_err();
    assert!(matches!(error.detail(), Detail::Callback { .. }), "{error}");
    assert_eq!(dropped.load(Ordering::Relaxed), 21, "each is dropped once");
}

/// `value`, unless it is this chunk's turn to panic.
fn unless(panics: Option<usize>, chunk: usize, value: u32) -> u32 {
    assert!(panics != Some(chunk), "on purpose");
    value
}

fn add_one(y: &mut [f32]) {
    y.iter_mut().for_each(|y| *y += 1.0);
}

stream_pipeline! {
    pipeline Odd {
        param panics: Option<usize>;
        param told: Arc<AtomicUsize>;
        input x: [f32];
        input w: mapped [f32];
        inout y: [f32];
        host h: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage work {
            axpy_each<<<unless(panics, c.index, 1), 4>>>(c.len as u32, 2.0, &dx, &mut dy);
            axpy_each<<<1, 4>>>(c.len as u32, 1.0, &w, &mut dy);
        }
        stage cpu { copy dy -> h; host add_one(&mut h); copy h -> dz; }
        stage store { copy dz -> y; then |_c| { told.fetch_add(1, Ordering::Relaxed); }; }
    }
}

/// Arguments that are gone when the next run comes, with others at their addresses; other lengths, and panics
/// halfway.
fn odd_runs(device: &Device, graph: bool, runs: usize) {
    let options = Odd::options(device);
    let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
    for run in 0..runs {
        let len = [18, 18, 5, 40, 0, 1, 18][run % 7];
        let panics = (run % 3 == 1).then_some(run % 5);
        let told = Arc::new(AtomicUsize::new(0));
        let (x, w) = (numbers(len), pinned(device, &numbers(len)));
        let mut y = vec![1.0; len];
        let (pinned_x, mut pinned_y) = (pinned(device, &x), pinned(device, &y));
        let result = catch_unwind(AssertUnwindSafe(|| {
            if run % 2 == 0 {
                pipeline.run(panics, Arc::clone(&told), &x, &w, &mut y)
            } else {
                let report = pipeline.run(panics, Arc::clone(&told), &pinned_x, &w, &mut pinned_y);
                y.copy_from_slice(&pinned_y);
                report
            }
        }));
        assert_eq!(Arc::strong_count(&told), 1, "a callback is left");
        let chunks = len.div_ceil(4);
        if panics.is_some_and(|chunk| chunk < chunks) {
            assert!(result.is_err());
        } else {
            result.unwrap().unwrap();
            assert_eq!(told.load(Ordering::Relaxed), chunks);
            assert_eq!(y, x.iter().map(|x| 2.0 + 3.0 * x).collect::<Vec<_>>());
        }
    }
}

#[test]
fn arguments_that_are_gone() {
    for (number, graph) in [false, true].into_iter().cycle().take(20).enumerate() {
        let spec = Simulation::default();
        let device = small(if number < 2 { spec } else { spec.adversarial(number as u64) });
        leaves_nothing(&device, || odd_runs(&device, graph, 42));
    }
}

#[test]
fn many_threads_with_functions() {
    let device = Device::simulated(Simulation::default());
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let device = &device;
            scope.spawn(move || odd_runs(device, thread % 2 == 0, 84));
        }
    });
}

stream_pipeline! {
    /// A callback runs a pipeline of its own on the same device, whose callbacks do so again.
    pipeline Nested {
        param device: Device;
        param depths: usize;
        param told: Arc<AtomicUsize>;
        input x: [f32];
        output y: [f32];
        chunk c = 4;
        stage all {
            copy x -> dx;
            copy dx -> y;
            then |c| nested(device, depths - usize::from(depths > 0), c.index, depths > 0, told);
        }
    }
}

fn nested(
    device: Device,
    depths: usize,
    chunk: usize,
    goes_on: bool,
    told: Arc<AtomicUsize>,
) -> thalweg::Result<()> {
    told.fetch_add(1, Ordering::Relaxed);
    if !goes_on {
        return Ok(());
    }
    let x = numbers(8);
    let mut y = vec![0.0; 8];
    // Another thread waits for the device at the same time.
    let other = device.clone();
    let thread = std::thread::spawn(move || odd_runs(&other, chunk.is_multiple_of(2), 3));
    Nested::new(&device)?.run(device.clone(), depths, told, &x, &mut y)?;
    thread.join().unwrap();
    assert_eq!(x, y);
    Ok(())
}

#[test]
fn callbacks_that_run_pipelines_and_wait_for_threads() {
    let (told, x, mut y) = (Arc::new(AtomicUsize::new(0)), numbers(8), vec![0.0; 8]);
    let device = Device::simulated(Simulation::default());
    Nested::new(&device).unwrap().run(device.clone(), 3, Arc::clone(&told), &x, &mut y).unwrap();
    assert_eq!((told.load(Ordering::Relaxed), y), (2 + 4 + 8 + 16, x));
}

fn asks_the_device(y: &mut [f32], told: &'static AtomicUsize) {
    let device = Device::simulated(Simulation::default());
    let (x, mut z) = (numbers(8), vec![0.0; 8]);
    let nested = Nested::new(&device);
    let refused =
        nested.and_then(|mut nested| nested.run(device.clone(), 0, Arc::default(), &x, &mut z)).is_err();
    told.fetch_add(usize::from(refused), Ordering::Relaxed);
    y.fill(1.0);
}

stream_pipeline! {
    pipeline Asks {
        param told: &'static AtomicUsize;
        output y: [f32];
        chunk c = 4;
        host h: [f32];
        stage all { host asks_the_device(out h, told); copy h -> d; copy d -> y; }
    }
}

/// The inner run is refused, and waits for nothing.
#[test]
fn a_host_function_that_runs_a_pipeline() {
    static REFUSED: AtomicUsize = AtomicUsize::new(0);
    let device = Device::simulated(Simulation::default());
    let mut y = vec![0.0; 8];
    Asks::new(&device).unwrap().run(&REFUSED, &mut y).unwrap();
    assert_eq!((REFUSED.load(Ordering::Relaxed), y), (2, vec![1.0; 8]));
}
