//! Progress: the reports of a run while it is under way; and reporting changes nothing.

use std::sync::{Arc, Mutex};

use thalweg::Options;
use thalweg::prelude::*;
use thalweg::report::Progress;
use thalweg::sim::{Effect, Fault};
use thalweg_kernels::saxpy;

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 100;
        depth = 2;
        stream up;
        stream math;
        stream down;
        stage load on up { copy x -> dx; copy y -> dy; }
        stage axpy on math { saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy); }
        stage store on down { copy dy -> y; }
    }
}

/// The reports, in order.
type Told = Arc<Mutex<Vec<Progress>>>;

fn told_by(options: Options<Saxpy>) -> (Saxpy, Told) {
    let told = Told::default();
    let to = Arc::clone(&told);
    (options.progress_with(move |progress| to.lock().unwrap().push(progress)).build().unwrap(), told)
}

fn device() -> Device {
    Device::simulated(Simulation::default())
}

/// The number of items that were done, call by call; nothing else differs.
fn take(told: &Told, total: usize) -> Vec<usize> {
    let told = std::mem::take(&mut *told.lock().unwrap());
    assert!(told.iter().all(|told| told.pipeline == "Saxpy" && told.total == total), "{told:?}");
    told.iter().map(|told| told.done).collect()
}

fn run(pipeline: &mut Saxpy, items: usize) -> thalweg::Result<Report> {
    let mut y = vec![2.0; items];
    let report = pipeline.run(3.0, &vec![1.0; items], &mut y)?;
    assert!(y.iter().all(|&y| y == 5.0));
    Ok(report)
}

#[test]
fn it_counts_up_to_all_items() {
    let (mut pipeline, told) = told_by(Saxpy::options(&device()));
    for (items, counted) in [
        (550, vec![0, 100, 200, 300, 550]),
        // A second run begins anew.
        (550, vec![0, 100, 200, 300, 550]),
        (200, vec![0, 200]),
        (1, vec![0, 1]),
        (0, vec![0]),
    ] {
        run(&mut pipeline, items).unwrap();
        assert_eq!(take(&told, items), counted);
    }
    assert_eq!(run(&mut pipeline, 250).unwrap().chunks, 3);
    assert!(told.lock().unwrap().last().unwrap().is_complete());
}

/// In graph mode a graph is a chunk, or the whole run; repeated graphs are reported too.
#[test]
fn it_counts_in_every_mode() {
    let (mut pipeline, told) = told_by(Saxpy::options(&device()).graph());
    run(&mut pipeline, 550).unwrap();
    assert_eq!(take(&told, 550), [0, 100, 200, 300, 550]);

    let device = device();
    for graph in [false, true] {
        let options = Saxpy::options(&device);
        let (mut pipeline, told) = told_by(if graph { options.graph() } else { options });
        let x = PinnedBuf::from_slice(&device, &[1.0; 550]).unwrap();
        let mut y = PinnedBuf::from_slice(&device, &[2.0; 550]).unwrap();
        for _ in 0..3 {
            pipeline.run(3.0, &x, &mut y).unwrap();
            let counted = take(&told, 550);
            assert!(counted.is_sorted() && counted.first() == Some(&0) && counted.last() == Some(&550));
        }
        pipeline.profile(3.0, &x, &mut y).unwrap();
        assert_eq!(take(&told, 550), [0, 100, 200, 300, 550]);
        // Nothing is done.
        pipeline.predict(3.0, &x, &mut y).unwrap();
        assert!(told.lock().unwrap().is_empty());
    }
}

#[test]
fn what_is_done_has_arrived() {
    check_arrivals(&device());
}

#[test]
#[ignore = "needs a CUDA device"]
fn what_is_done_has_arrived_on_a_gpu() {
    check_arrivals(&Device::cuda(0).unwrap());
}

/// A chunk that is reported as done is in the caller's memory, if results are staged.
fn check_arrivals(device: &Device) {
    struct Shared(*const f32);
    // SAFETY: the test reads only memory that is no longer written.
    unsafe impl Send for Shared {}
    // SAFETY: as above.
    unsafe impl Sync for Shared {}
    impl Shared {
        /// # Safety
        /// Nothing writes there any more.
        unsafe fn read(&self, index: usize) -> f32 {
            // SAFETY: the caller's promise; there are as many items.
            unsafe { self.0.add(index).read() }
        }
    }

    for graph in [false, true] {
        let mut y = vec![2.0_f32; 1000];
        let results = Shared(y.as_ptr());
        let checked = Arc::new(Mutex::new(0));
        let count = Arc::clone(&checked);
        let check = move |progress: Progress| {
            for index in 0..progress.done {
                // SAFETY: this chunk's results were delivered before a chunk took over its slot.
                assert_eq!(unsafe { results.read(index) }, 5.0, "item {index} of {progress:?}");
            }
            *count.lock().unwrap() += progress.done;
        };
        let options = Saxpy::options(device).progress_with(check);
        let mut pipeline = if graph { options.graph() } else { options }.build().unwrap();
        pipeline.run(3.0, &vec![1.0; 1000], &mut y).unwrap();
        // Seven of ten chunks are reported before the end: those whose slots others have taken over.
        assert_eq!(*checked.lock().unwrap(), (1..=7).sum::<usize>() * 100 + 1000);
    }
}

#[test]
fn after_an_error_nothing_is_told() {
    let device = device();
    let (mut pipeline, told) = told_by(Saxpy::options(&device));
    device.inject(Fault::at(&Saxpy::PLAN, "axpy", 3, Effect::Fails).unwrap()).unwrap();
    run(&mut pipeline, 1000).unwrap_err();
    let counted = take(&told, 1000);
    assert!(counted.is_sorted() && *counted.last().unwrap() < 1000, "{counted:?}");
    // A run that does not begin is not reported.
    pipeline.run(3.0, &[1.0; 7], &mut [2.0; 8]).unwrap_err();
    assert!(told.lock().unwrap().is_empty());
    run(&mut pipeline, 200).unwrap();
    assert_eq!(take(&told, 200), [0, 200]);
}

/// A callback that panics, at any of its calls, ends the run like an expression that panics; the pipeline
/// goes on.
#[test]
fn a_callback_may_panic() {
    for at in [0, 100, 300, 550] {
        let armed = Arc::new(Mutex::new(true));
        let is_armed = Arc::clone(&armed);
        let report = move |progress: Progress| {
            let panics = *is_armed.lock().unwrap() && progress.done == at;
            assert!(!panics, "as it should");
        };
        let mut pipeline = Saxpy::options(&device()).progress_with(report).build().unwrap();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&mut pipeline, 550)));
        assert!(outcome.is_err(), "at {at}");
        *armed.lock().unwrap() = false;
        run(&mut pipeline, 550).unwrap_or_else(|error| panic!("after {at}: {error}"));
    }
}

/// A run with progress is the same run, on the simulated device to the nanosecond.
#[test]
fn telling_changes_no_schedule() {
    let plain = |options: Options<Saxpy>| run(&mut options.build().unwrap(), 5000).unwrap();
    let report = plain(Saxpy::options(&device()));
    assert_eq!(run(&mut told_by(Saxpy::options(&device())).0, 5000).unwrap(), report);
    // If standard error is a terminal, this draws.
    assert_eq!(plain(Saxpy::options(&device()).progress()), report);
}
