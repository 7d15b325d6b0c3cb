//! Programs without `unsafe` that leak, drop, panic and nest as they please. Run them under AddressSanitizer:
//! `.ci/asan`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use rayon::prelude::*;
use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg_kernels::saxpy;
use thalweg_tests::kernels::{add_to, axpy_each};
use thalweg_tests::{leaves_nothing, numbers, pinned, small};

stream_pipeline! {
    pipeline Saxpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage axpy { saxpy<<<1, 32>>>(a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

/// Checks that a device still runs pipelines.
fn works(device: &Device) {
    let (x, mut y) = (numbers(30), numbers(30));
    Saxpy::new(device).unwrap().run(1.0, &x, &mut y).unwrap();
    assert_eq!(y, x.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
}

/// Keeps values that are never dropped, where a leak checker sees them.
fn keep(value: impl Any + Send) {
    static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(Box::new(value));
}

#[test]
fn what_is_never_dropped() {
    let device = small(Simulation::default());
    let mut pipeline = Saxpy::new(&device).unwrap();
    let mut y = pinned(&device, &numbers(30));
    pipeline.run(1.0, &numbers(30), &mut y).unwrap();
    pipeline.run(1.0, &numbers(9), &mut numbers(8)).unwrap_err();
    keep(pipeline);
    keep(y);
    works(&device);
}

#[test]
fn drops_in_every_order() {
    type Things = (Option<Device>, Option<Saxpy>, Option<PinnedBuf<f32>>, Option<Report>);
    let drops: [fn(&mut Things); 4] =
        [|t| drop(t.0.take()), |t| drop(t.1.take()), |t| drop(t.2.take()), |t| drop(t.3.take())];
    let orders = [[0, 1, 2, 3], [0, 2, 1, 3], [1, 0, 2, 3], [1, 2, 0, 3], [2, 0, 1, 3], [3, 2, 1, 0]];
    for order in orders {
        let device = small(Simulation::default());
        let mut pipeline = Saxpy::new(&device).unwrap();
        let mut y = pinned(&device, &numbers(30));
        let report = pipeline.run(1.0, &numbers(30), &mut y).unwrap();
        let mut things = (Some(device), Some(pipeline), Some(y), Some(report));
        let last = order[2];
        for which in order {
            drops[which](&mut things);
            // The remaining ones work.
            if let (Some(pipeline), Some(y)) = (&mut things.1, &mut things.2) {
                pipeline.run(1.0, &numbers(30), y).unwrap();
            } else if let (Some(pipeline), true) = (&mut things.1, last == 1) {
                pipeline.run(1.0, &numbers(5), &mut numbers(5)).unwrap();
            }
        }
    }
}

#[test]
fn drops_on_another_thread_and_while_unwinding() {
    let device = small(Simulation::default());
    leaves_nothing(&device, || {
        let pipeline = Saxpy::new(&device).unwrap();
        let y = pinned(&device, &numbers(30));
        std::thread::spawn(move || drop((pipeline, y))).join().unwrap();

        let pipeline = Saxpy::new(&device).unwrap();
        let unwinds = AssertUnwindSafe(|| {
            let _moved = pipeline;
            let _y = pinned(&device, &numbers(30));
            panic!("on purpose");
        });
        catch_unwind(unwinds).unwrap_err();
    });
    works(&device);
}

#[test]
fn types_go_where_they_may() {
    fn is_sent<T: Send + 'static>() {}
    fn is_shared<T: Send + Sync + 'static>() {}
    is_sent::<Saxpy>();
    is_shared::<Device>();
    is_shared::<PinnedBuf<f32>>();
    is_shared::<Error>();
    is_shared::<Report>();
}

/// Which expression of [`Bomb`] panics, in which chunk.
type Fuse = (u32, usize);

/// `value`, unless it is this expression's turn to panic.
fn lit<T>(fuse: Fuse, expression: u32, chunk: usize, value: T) -> T {
    assert!(fuse != (expression, chunk), "on purpose");
    value
}

stream_pipeline! {
    /// Every expression may panic.
    pipeline Bomb {
        param fuse: Fuse;
        input x: [f32; lit(fuse, 0, 0, 1)];
        inout y: [f32; lit(fuse, 1, 0, 1)];
        device scratch: [f32; lit(fuse, 2, 0, 1)];
        chunk c = lit(fuse, 3, 0, 4);
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage first {
            copy dy -> scratch;
            axpy_each<<<lit(fuse, 4, c.index, 1), lit(fuse, 5, c.index, 32), lit(fuse, 6, c.index, 0)>>>(
                lit(fuse, 7, c.index, c.len as u32), lit(fuse, 8, c.index, 1.0), &dx, &mut scratch
            );
        }
        stage second {
            add_to<<<lit(fuse, 9, c.index, 1), 32>>>(c.len as u32, lit(fuse, 10, c.index, 1.0), &mut scratch);
        }
        stage store { copy scratch -> y; }
    }
}

/// The caller's data are freed as soon as the panic arrives: nothing may write there later.
#[test]
fn panics_in_every_expression() {
    const LEN: usize = 18;
    let specs = (0..6).map(|seed| Simulation::default().adversarial(seed)).chain([Simulation::default()]);
    for (number, spec) in specs.enumerate() {
        let device = small(spec);
        leaves_nothing(&device, || {
            let mut pipeline = Bomb::new(&device).unwrap();
            for fuse in (0..11).flat_map(|expression| (0..5).map(move |chunk| (expression, chunk))) {
                let bombed = catch_unwind(AssertUnwindSafe(|| {
                    let (x, mut y) = (numbers(LEN), numbers(LEN));
                    if number % 2 == 0 {
                        pipeline.run(fuse, &pinned(&device, &x), &mut pinned(&device, &y)).unwrap();
                    } else {
                        pipeline.run(fuse, &x, &mut y).unwrap();
                    }
                }));
                // The first four expressions are evaluated before the first chunk.
                assert_eq!(bombed.is_err(), fuse.0 > 3 || fuse.1 == 0, "{fuse:?}");
            }
            let mut y = numbers(LEN);
            pipeline.run((99, 0), &numbers(LEN), &mut y).unwrap();
            assert_eq!(y, numbers(LEN).iter().map(|x| 2.0 * x + 1.0).collect::<Vec<_>>());
        });
    }
}

/// A host body may not run a pipeline, like any function that a stream of a GPU calls. The run is refused
/// before anything is enqueued, so nothing is lost.
mod a_run_in_a_host_body {
    use super::*;

    /// The work of the host body of [`nested`].
    static BODY: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

    #[kernels("../../cu/elements.cu")]
    unsafe extern "CUDA" {
        #[host(run_nested)]
        safe fn add_to(n: u32, a: f32, y: &mut [f32]);
    }

    fn run_nested(_: Grid, n: u32, a: f32, y: &mut [f32]) {
        y[..n as usize].iter_mut().for_each(|y| *y += a);
        if let Some(body) = BODY.lock().unwrap().take() {
            body();
        }
    }

    stream_pipeline! {
        pipeline Outer {
            inout y: [f32];
            chunk c = auto;
            stage load { copy y -> dy; }
            stage nested { add_to<<<1, 32>>>(c.len as u32, 1.0, &mut dy); }
            stage store { copy dy -> y; }
        }
    }

    #[test]
    fn is_refused_and_nothing_is_lost() {
        let device = small(Simulation::default());
        let (inner_device, outcome) = (device.clone(), std::sync::Arc::new(Mutex::new(None)));
        let noted = outcome.clone();
        let mut inner = Saxpy::new(&device).unwrap();
        let (x, mut y) = (pinned(&device, &numbers(9)), numbers(9));
        *BODY.lock().unwrap() = Some(Box::new(move || {
            // No other pipeline is made either.
            assert!(Saxpy::new(&inner_device).is_err());
            let error = inner.run(1.0, &x, &mut y).unwrap_err();
            *noted.lock().unwrap() = Some((inner, x, y, error));
        }));
        let mut outer = Outer::new(&device).unwrap();
        let mut y = numbers(9);
        outer.run(&mut y).unwrap();
        assert_eq!(y, numbers(9).iter().map(|y| y + 1.0).collect::<Vec<_>>());

        let (mut inner, x, y, error) = outcome.lock().unwrap().take().unwrap();
        assert!(matches!(error.detail(), Detail::Driver(error) if error.code == 800), "{error:?}");
        assert_eq!(y, numbers(9));
        assert!(!x.is_poisoned());
        // Outside the body the same pipeline and buffer are usable.
        inner.run(1.0, &x, &mut numbers(9)).unwrap();
        drop((inner, x));
        works(&device);
        keep(device);
    }
}

/// Rayon's threads run one task while they wait for another, so a run may come to nest in another run's copy.
#[test]
fn runs_on_rayons_threads() {
    stream_pipeline! {
        pipeline Large {
            inout y: [f32];
            chunk c = 1 << 18;
            stage load { copy y -> dy; }
            stage add { add_to<<<1, 1>>>(c.len as u32, 1.0, &mut dy); }
            stage store { copy dy -> y; }
        }
    }
    let device = Device::simulated(Simulation::default());
    let start = numbers(600_000);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(8).build().unwrap();
    pool.install(|| {
        (0..50).into_par_iter().for_each(|_| {
            let mut y = start.clone();
            Large::new(&device).unwrap().run(&mut y).unwrap();
            assert!(y.iter().zip(&start).all(|(y, start)| *y == start + 1.0));
        });
    });
}

/// A body that waits in rayon lets its thread take other tasks of its pool: they must not be runs on the same
/// device.
#[test]
fn runs_from_rayon_whose_bodies_use_rayon() {
    use rayon::prelude::*;
    use thalweg_kernels::saxpy;

    stream_pipeline! {
        pipeline Saxpy {
            param a: f32;
            input x: [f32];
            inout y: [f32];
            chunk c = 40_000;
            stage all {
                copy x -> dx;
                copy y -> dy;
                saxpy<<<blocks(c.len, 256), 256>>>(a, &dx, &mut dy);
                copy dy -> y;
            }
        }
    }

    let device = Device::simulated(Simulation::default());
    (0..64).into_par_iter().for_each(|seed: u32| {
        let x: Vec<f32> = (0..100_000).map(|i| (i + seed) as f32).collect();
        let mut y = vec![1.0; x.len()];
        Saxpy::new(&device).unwrap().run(2.0, &x, &mut y).unwrap();
        assert!(y.iter().zip(&x).all(|(y, x)| *y == 2.0 * x + 1.0));
    });
}
