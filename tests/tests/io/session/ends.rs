//! Ends that are dropped or forgotten at each moment.

use std::any::Any;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::job::Job;
use thalweg::prelude::*;
use thalweg::session::{self, Puller, Pusher, Session};
use thalweg_tests::built_in_mode;
use thalweg_tests::numbers;
use thalweg_tests::waiting::{everywhere, in_time};

use super::{Next, next, rest};

const CHUNK: usize = 5;

/// A run with so many items pushed and so many pulled.
fn at(
    device: &Device,
    graph: bool,
    pushed: usize,
    pulled: usize,
) -> (Pusher<f32>, Puller<f32>, Job<(Report, Next)>) {
    let mut pipeline = built_in_mode!(Next, device, graph);
    let (mut frames, mut results, job) =
        Session::start(move |x, z| Ok((pipeline.run(x, z)?, pipeline))).unwrap().split();
    let x = numbers(pushed);
    frames.push(&x).unwrap();
    let mut z = vec![0.0; pulled];
    assert_eq!(results.pull(&mut z).unwrap(), pulled);
    assert_eq!(z, next(&x)[..pulled]);
    (frames, results, job)
}

/// Pushes nothing, a part of a chunk, a chunk, several of them, and as many as there is surely room for;
/// pulls nothing, a part of a chunk, and whole chunks of it.
const MOMENTS: [(usize, usize); 9] =
    [(0, 0), (2, 0), (5, 0), (5, 3), (5, 5), (8, 5), (15, 0), (15, 7), (19, 5)];

#[test]
fn the_input_ends_when_it_is_dropped() {
    everywhere(|device, graph| {
        for (pushed, pulled) in MOMENTS {
            let (frames, mut results, job) = at(device, graph, pushed, pulled);
            drop(frames);
            assert_eq!(rest(&mut results, 4).unwrap(), next(&numbers(pushed))[pulled..]);
            assert_eq!(job.wait().unwrap().0.items, pushed);
        }
    });
}

#[test]
fn results_are_discarded_when_nobody_wants_them() {
    everywhere(|device, graph| {
        for (pushed, pulled) in MOMENTS {
            let (mut frames, results, job) = at(device, graph, pushed, pulled);
            drop(results);
            // There is room for any number.
            frames.push(&numbers(1000)).unwrap();
            drop(frames);
            let (report, mut pipeline) = job.wait().unwrap();
            assert_eq!(report.items, pushed + 1000);
            let mut z = [0.0; 7];
            pipeline.run(&numbers(7), &mut z).unwrap();
            assert_eq!(z, next(&numbers(7))[..]);
        }
    });
}

#[test]
fn both_are_dropped_or_the_session_is() {
    everywhere(|device, graph| {
        for (pushed, pulled) in MOMENTS {
            let (frames, results, job) = at(device, graph, pushed, pulled);
            drop((results, frames));
            assert_eq!(job.wait().unwrap().0.items, pushed);
            let mut pipeline = built_in_mode!(Next, device, graph);
            let (over, is_over) = std::sync::mpsc::channel();
            let mut session = Session::start(move |x, z| {
                let report = pipeline.run(x, z);
                drop(pipeline);
                over.send(report.map(|report| report.items)).unwrap();
                Ok(())
            })
            .unwrap();
            session.push(&numbers(pushed)).unwrap();
            assert_eq!(session.pull(&mut vec![0.0; pulled]).unwrap(), pulled);
            drop(session);
            assert_eq!(is_over.recv().unwrap().unwrap(), pushed);
        }
    });
}

#[test]
fn closed_at_each_moment() {
    everywhere(|device, graph| {
        for (pushed, pulled) in MOMENTS {
            let mut pipeline = built_in_mode!(Next, device, graph);
            let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
            session.push(&numbers(pushed)).unwrap();
            assert_eq!(session.pull(&mut vec![0.0; pulled]).unwrap(), pulled);
            if pulled == 5 {
                session.end();
                let error = session.push(&[1.0]).unwrap_err();
                assert!(matches!(error.detail(), Detail::InputEnded), "{error}");
            }
            assert_eq!(session.close().unwrap().items, pushed);
        }
    });
}

/// Never drops the value, like `std::mem::forget`; but a leak checker finds it.
fn forget<T: Send + 'static>(value: T) {
    static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    KEPT.lock().expect("no panic").push(Box::new(value));
}

/// The run waits for an end that never comes, and can be asked to end. A forgotten end has nothing of its
/// memory.
#[test]
fn forgotten() {
    everywhere(|device, graph| {
        for ((pushed, pulled), (one, other)) in MOMENTS
            .into_iter()
            .flat_map(|moment| [(true, false), (false, true), (true, true)].map(|e| (moment, e)))
        {
            let (frames, results, job) = at(device, graph, pushed, pulled);
            // The end that is not forgotten goes on after the run.
            let mut frames = Some(frames);
            if one {
                forget(frames.take());
            }
            let mut results = Some(results);
            if other {
                forget(results.take());
            }
            thread::sleep(Duration::from_millis(1));
            job.cancel();
            let error = job.wait().unwrap_err();
            assert!(matches!(error.detail(), Detail::Cancelled), "{error}");
            if let Some(mut frames) = frames {
                let error = frames.push(&[1.0; CHUNK]).unwrap_err();
                // A run that has not begun when it is asked to end never does.
                let never = pushed == 0 && matches!(error.detail(), Detail::SessionOver);
                assert!(never || matches!(error.detail(), Detail::Cancelled), "{error}");
            }
            if let Some(mut results) = results {
                let mut z = vec![0.0; pushed];
                let left = results.pull(&mut z).unwrap_or(0);
                assert_eq!(z[..left], next(&numbers(pushed))[pulled..pulled + left]);
            }
        }
    });
}

/// The thread is left behind, and so is the pipeline; the device serves others.
#[test]
fn a_session_that_is_forgotten() {
    in_time(|| {
        let device = Device::simulated(Simulation::default());
        for (pushed, pulled) in MOMENTS {
            let mut pipeline = Next::new(&device).unwrap();
            let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
            session.push(&numbers(pushed)).unwrap();
            assert_eq!(session.pull(&mut vec![0.0; pulled]).unwrap(), pulled);
            forget(session);
        }
        let mut pipeline = Next::new(&device).unwrap();
        let mut session = Session::start(move |x, z| pipeline.run(x, z)).unwrap();
        let (x, mut z) = (numbers(100), vec![0.0; 100]);
        session.push(&x).unwrap();
        assert_eq!(session.pull(&mut z).unwrap(), 100);
        assert_eq!(z, next(&x));
        assert_eq!(session.close().unwrap().items, 100);
    });
}

/// An argument that nobody has, and one that a prediction has taken.
#[test]
fn arguments_without_a_run() {
    in_time(|| {
        let device = Device::simulated(Simulation::default());
        let mut pipeline = Next::new(&device).unwrap();
        let ((mut frames, x), (z, mut results)) = (session::input(), session::output::<f32>());
        assert_eq!(frames.try_push(&[1.0]).unwrap(), 0);
        assert_eq!(results.try_pull(&mut [0.0]).unwrap(), Some(0));
        frames.flush().unwrap();
        let error = pipeline.predict(x, z).unwrap_err();
        assert!(matches!(error.detail(), Detail::UnknownLength { .. }), "{error}");
        assert_eq!(frames.push(&[1.0]).unwrap_err().to_string(), error.to_string());
        assert_eq!(results.pull(&mut [1.0]).unwrap_err().to_string(), error.to_string());
        let ((mut frames, x), (z, mut results)) = (session::input::<f32>(), session::output::<f32>());
        drop((x, z));
        assert!(matches!(frames.push(&[1.0]).unwrap_err().detail(), Detail::SessionOver));
        assert!(matches!(results.pull(&mut [1.0]).unwrap_err().detail(), Detail::SessionOver));
        // An end that is gone before the run begins.
        let mut pipeline = Next::new(&device).unwrap();
        let ((frames, x), (z, results)) = (session::input(), session::output());
        drop((frames, results));
        assert_eq!(pipeline.run(x, z).unwrap().items, 0);
    });
}
