//! Jobs, scopes and runs that are asked to end.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::job::{Cancel, Job};
use thalweg::prelude::*;
use thalweg_tests::book::{in_listing, recorded};
use thalweg_tests::kernels::{add_to, axpy_each};

stream_pipeline! {
    pipeline Axpy {
        param a: f32;
        input x: [f32];
        inout y: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; copy y -> dy; }
        stage math { axpy_each<<<blocks(c.len, 128), 128>>>(c.len as u32, a, &dx, &mut dy); }
        stage store { copy dy -> y; }
    }
}

// ANCHOR: told
stream_pipeline! {
    /// Reports when a chunk is enqueued, and its results.
    pipeline Told {
        param tell: fn(usize);
        input x: [f32];
        output y: [f32];
        chunk c = 100;
        depth = 2;
        stage load { copy x -> dx; }
        stage math { if { tell(c.index); true } { add_to<<<blocks(c.len, 128), 128>>>(c.len as u32, 1.0, &mut dx); } }
        stage store { copy dx -> y; }
    }
}
// ANCHOR_END: told

fn device() -> Device {
    Device::simulated(Simulation::h200())
}

/// The smallest executor: it sleeps until it is woken.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

// ANCHOR: job
/// The pipeline, `x`, `y`, and what the run did.
type Done = (Axpy, Vec<f32>, Vec<f32>, Report);

/// A run on a thread of its own. The job gives the pipeline and its data back.
fn job(device: &Device, items: usize) -> thalweg::Result<Job<Done>> {
    let mut axpy = Axpy::new(device)?;
    let (x, mut y) = (vec![1.0; items], vec![2.0; items]);
    thalweg::job::spawn(move || {
        let report = axpy.run(3.0, &x, &mut y)?;
        Ok((axpy, x, y, report))
    })
}
// ANCHOR_END: job

#[test]
fn a_job_is_a_future() {
    let device = device();
    for items in [0, 1, 999, 100_000] {
        let (mut axpy, x, mut y, report) = block_on(job(&device, items).expect("a job")).expect("a run");
        assert_eq!((report.items, &y), (items, &vec![5.0; items]));
        // The job gives its data back.
        axpy.run(1.0, &x, &mut y).expect("a run");
        assert_eq!(y, vec![6.0; items]);
    }
    let (one, other) = (job(&device, 5000).expect("a job"), job(&device, 7000).expect("a job"));
    let both = async { (one.await.expect("a run").2.len(), other.await.expect("a run").2.len()) };
    assert_eq!(block_on(both), (5000, 7000));
}

#[test]
fn a_job_that_is_dropped_or_forgotten_is_nobodys_loss() {
    let device = device();
    let before = device.free_memory().expect("a number");
    for _ in 0..3 {
        drop(job(&device, 50_000).expect("a job"));
        // The result of a forgotten job is forgotten, too.
        let mut axpy = Axpy::new(&device).expect("a pipeline");
        let (x, mut y) = (vec![1.0; 50_000], vec![2.0; 50_000]);
        let forgotten = thalweg::job::spawn(move || axpy.run(3.0, &x, &mut y).map(|report| report.items));
        std::mem::forget(forgotten.expect("a thread"));
    }
    // The jobs go on, and what they own goes with them.
    for _ in 0..2000 {
        if device.free_memory().expect("a number") == before {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
    panic!("something is lost");
}

#[test]
fn what_fails_in_a_job_is_its_result() {
    let device = device();
    let mut axpy = Axpy::new(&device).expect("a pipeline");
    let job = thalweg::job::spawn(move || {
        let (x, mut y) = (vec![1.0; 10], vec![2.0; 11]);
        let outcome = axpy.run(1.0, &x, &mut y);
        Ok((axpy, y, outcome))
    });
    let (_, y, outcome) = job.expect("a thread").wait().expect("the job itself is well");
    assert_eq!(y.len(), 11);
    assert!(matches!(outcome.unwrap_err().detail(), Detail::Length { .. }));
}

static CHUNKS: AtomicUsize = AtomicUsize::new(0);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// No further chunk is begun, and chunks that were begun are complete.
#[test]
fn a_job_is_cancelled_between_chunks() {
    let _one = ONE_AT_A_TIME.lock().expect("no panic");
    let device = device();
    CHUNKS.store(0, Ordering::SeqCst);
    let mut told = Told::new(&device).expect("a pipeline");
    let tell = |index: usize| {
        CHUNKS.store(index + 1, Ordering::SeqCst);
        thread::sleep(Duration::from_micros(200));
    };
    let job = thalweg::job::spawn(move || {
        let (x, mut y) = (vec![1.0; 1_000_000], vec![0.0; 1_000_000]);
        let outcome = told.run(tell, &x, &mut y);
        Ok((told, y, outcome))
    });
    let job = job.expect("a thread");
    while CHUNKS.load(Ordering::SeqCst) < 10 {
        thread::yield_now();
    }
    job.cancel();
    let (mut told, y, outcome) = job.wait().expect("the job itself is well");
    let error = outcome.unwrap_err();
    assert!(matches!(error.detail(), Detail::Cancelled), "{error}");
    let (begun, complete) = (CHUNKS.load(Ordering::SeqCst), error.complete()[0].items);
    assert!(
        (10..9000).contains(&begun) && complete == 100 * begun,
        "{begun} chunks, {complete} items: {error}"
    );
    assert_eq!(error.place().chunk, Some(begun as u64));
    assert!(y[..complete].iter().all(|&y| y == 2.0) && y[complete..].iter().all(|&y| y == 0.0));
    let text = in_listing(&error, file!(), "told");
    // The threads decide which chunk it is: the book has the twelfth.
    let text = text.replace(&format!(" {begun}"), " 12").replace(&format!("({complete} "), "(1200 ");
    recorded("jobs-cancelled.txt", &text);
    // The pipeline works as before.
    let mut y = vec![0.0; 500];
    told.run(|_| (), &[3.0; 500], &mut y).expect("a run");
    assert_eq!(y, [4.0; 500]);
}

#[test]
fn runs_of_this_thread_are_cancelled_by_whoever_is_around_them() {
    let device = device();
    let (cancel, mut axpy) = (Cancel::new(), Axpy::new(&device).expect("a pipeline"));
    let (x, mut y) = (vec![1.0; 5000], vec![0.0; 5000]);
    cancel.during(|| axpy.run(1.0, &x, &mut y)).expect("nobody has asked");
    cancel.cancel();
    axpy.run(1.0, &x, &mut y).expect("it is not around this one");
    let error = cancel.during(|| axpy.run(1.0, &x, &mut y)).unwrap_err();
    assert!(matches!(error.detail(), Detail::Cancelled), "{error}");
    assert_eq!(y, [2.0; 5000]);
    // An empty run is complete.
    let mut graph = Axpy::options(&device).graph().build().expect("a pipeline");
    let error = cancel.during(|| graph.run(1.0, &x, &mut y)).unwrap_err();
    assert!(matches!(error.detail(), Detail::Cancelled), "{error}");
}

#[test]
fn endless_sources_are_cancelled() {
    let device = device();
    let (cancel, mut through) = (Cancel::new(), Axpy2::new(&device).expect("a pipeline"));
    let (token, mut sum) = (cancel.clone(), 0);
    let outcome = cancel.during(|| {
        let sink = sink::for_each(|_, data: &[f32]| {
            sum += data.len();
            if sum > 5000 {
                token.cancel();
            }
            Ok(())
        });
        through.run(source::iter(std::iter::repeat(1.0_f32)), sink)
    });
    let error = outcome.unwrap_err();
    assert!(matches!(error.detail(), Detail::Cancelled), "{error}");
    assert_eq!(error.complete()[0].items, sum);
}

stream_pipeline! {
    pipeline Axpy2 {
        input x: [f32];
        output y: [f32];
        chunk c = 1000;
        stage load { copy x -> dx; }
        stage store { copy dx -> y; }
    }
}

#[test]
fn a_scope_has_several_runs_over_borrowed_data() {
    let device = device();
    let mut pipelines: Vec<_> = (0..4).map(|_| Axpy::new(&device).expect("a pipeline")).collect();
    let (x, mut y) = (vec![1.0; 40_000], vec![2.0; 40_000]);
    // ANCHOR: scope
    let reports = thalweg::job::scope(|scope| {
        let jobs: Vec<_> = (pipelines.iter_mut().zip(y.chunks_mut(10_000)).enumerate())
            .map(|(index, (axpy, y))| {
                let x = &x[index * 10_000..][..10_000];
                scope.spawn(move || axpy.run(index as f32, x, y)).expect("a thread")
            })
            .collect();
        jobs.into_iter().map(|job| job.wait().expect("a run").items).collect::<Vec<_>>()
    });
    // ANCHOR_END: scope
    assert_eq!(reports, [10_000; 4]);
    assert!(y.iter().enumerate().all(|(i, &y)| y == 2.0 + (i / 10_000) as f32));
    // Nobody waits for some jobs, one panics, and a body panics too.
    let (finished, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        thalweg::job::scope(|scope| {
            for _ in 0..3 {
                let job = scope.spawn(|| {
                    thread::sleep(Duration::from_millis(20));
                    Ok(finished.fetch_add(1, Ordering::SeqCst))
                });
                std::mem::forget(job.expect("a thread"));
            }
            let panics = scope.spawn(|| -> thalweg::Result<()> { panic!("in a job") }).expect("a thread");
            *failed.lock().expect("no panic") = panics.wait().err();
            panic!("in the body")
        })
    }));
    assert!(unwound.is_err());
    assert_eq!(finished.load(Ordering::SeqCst), 3);
    let failed = failed.into_inner().expect("no panic").expect("it has panicked");
    assert!(matches!(failed.detail(), Detail::Panicked { .. }), "{failed}");
}

#[test]
fn a_job_of_a_scope_is_cancelled() {
    let (device, (sender, cancelled)) = (device(), mpsc::channel());
    let mut axpy = Axpy::new(&device).expect("a pipeline");
    thalweg::job::scope(|scope| {
        let job = scope.spawn(move || {
            let (x, mut y) = (vec![1.0; 3000], vec![0.0; 3000]);
            loop {
                if let Err(error) = axpy.run(1.0, &x, &mut y) {
                    return Ok(sender.send(matches!(error.detail(), Detail::Cancelled)).is_ok());
                }
            }
        });
        let job = job.expect("a thread").try_wait().expect_err("it has no end");
        job.cancel();
        job.wait().expect("it ends")
    });
    assert_eq!(cancelled.recv(), Ok(true));
}
