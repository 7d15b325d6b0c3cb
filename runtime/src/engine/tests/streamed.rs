//! Sources and sinks on a driver with one failing call, and on one that the host polls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use crate::base::error::Result;
use crate::engine::tests::{
    Call, Fault, Faulty, KEPT, LEN, Mode, OF_THE_CALL, OF_THE_DEVICE, OUT_OF_MEMORY, RESULT, Saxpy, X, saxpy,
};
use crate::prelude::*;

stream_pipeline! {
    #![crate = crate]
    pipeline Streams {
        input x: [f32];
        input y: [f32];
        output z: [f32];
        chunk c = 4;
        depth = 2;
        stage load { copy x -> dx; copy y -> dy; }
        stage work { saxpy<<<1, 4>>>(c.len as u32, 2.0, &dx, &mut dy); }
        stage store { copy dy -> z; }
    }
}

/// Whether there are graphs, and whether the host polls.
const CASES: [(bool, bool); 3] = [(false, false), (true, false), (false, true)];

fn built(device: &Device, graph: bool) -> Result<Streams> {
    let options = Streams::options(device);
    if graph { options.graph().build() } else { options.build() }
}

/// Runs once, and returns the sink's contents and the run's result.
fn run(pipeline: &mut Streams) -> (Vec<f32>, Result<Report>) {
    let mut z = Vec::new();
    let (x, y) = (source::batches([&X[..5], &X[5..]]), source::iter([3.0; LEN]));
    let result = pipeline.run(x, y, sink::extend(&mut z));
    (z, result)
}

fn check(z: &[f32], result: &Result<Report>) {
    assert!(z.iter().all(|&z| z == RESULT), "{z:?}");
    match result {
        Ok(report) => assert_eq!((z.len(), report.items), (LEN, LEN)),
        Err(error) => {
            let complete = error.complete().first().map_or(0, |complete| complete.items);
            assert_eq!(z.len(), complete, "{error}");
        }
    }
}

/// Lets every call fail in one way.
fn every_call(mode: Mode, code: u32) {
    for (call, (graph, polls)) in Call::ALL.into_iter().flat_map(|call| CASES.map(|case| (call, case))) {
        // The host polls as often as it has time to.
        let most = if call == Call::QueryEvent { 12 } else { usize::MAX };
        for nth in 0..most {
            let fault = Fault { call, nth, mode, code };
            let driver = Arc::new(Faulty::new(fault).polled(polls));
            let device = Device::with_driver(driver.clone());
            let outcome = built(&device, graph).map(|mut pipeline| {
                let (z, result) = run(&mut pipeline);
                check(&z, &result);
                let again = run(&mut pipeline);
                check(&again.0, &again.1);
                (result, again.1)
            });
            let failed = driver.state().failed.is_some();
            let says = match &outcome {
                Ok((first, again)) => first.is_err() || again.is_err(),
                Err(_) => true,
            };
            assert_eq!(says, failed, "{fault:?}, {outcome:?}");
            if mode == Mode::Lost {
                assert_eq!(driver.state().refused, [], "{fault:?}");
                KEPT.lock().unwrap().push(device.clone());
            } else {
                let state = driver.state();
                assert_eq!((&state.refused[..], state.live()), (&[][..], 0), "{fault:?}: {state:?}");
            }
            if !failed {
                break;
            }
        }
    }
}

#[test]
fn a_refused_call() {
    every_call(Mode::Refused, OF_THE_CALL);
}

#[test]
fn a_call_that_is_done_and_fails() {
    every_call(Mode::Done, OF_THE_CALL);
}

#[test]
fn an_asynchronous_error() {
    every_call(Mode::Refused, OF_THE_DEVICE);
}

#[test]
fn memory_that_is_exhausted() {
    every_call(Mode::Refused, OUT_OF_MEMORY);
}

#[test]
fn a_lost_device() {
    every_call(Mode::Lost, OF_THE_DEVICE);
}

fn polled() -> Device {
    let never = Fault { call: Call::Launch, nth: usize::MAX / 2, mode: Mode::Refused, code: OF_THE_CALL };
    Device::with_driver(Arc::new(Faulty::new(never).polled(true)))
}

/// An answer comes before the next question.
#[test]
fn answers_come_while_a_source_waits() {
    let device = polled();
    let mut pipeline = built(&device, false).unwrap();
    let (to, questions) = mpsc::channel::<Vec<f32>>();
    let (answer, answers) = mpsc::channel::<Vec<f32>>();
    thread::scope(|scope| {
        let user = scope.spawn(move || {
            for round in 0..20_u8 {
                to.send(vec![f32::from(round); 4]).unwrap();
                assert_eq!(answers.recv().unwrap(), [3.0 + 2.0 * f32::from(round); 4]);
            }
        });
        let y = [3.0; 80];
        pipeline.run(source::channel(questions), &y, sink::channel(answer)).unwrap();
        user.join().unwrap();
    });
}

/// Both sources and the sink are slow at the same time; and nothing is read far ahead of the sink.
#[test]
fn slow_ends_overlap() {
    let device = polled();
    let mut pipeline = built(&device, false).unwrap();
    let (napping, read) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (at_once, furthest) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let nap = || {
        at_once.fetch_max(1 + napping.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        thread::sleep(Duration::from_millis(4));
        napping.fetch_sub(1, Ordering::SeqCst);
    };
    let source = |is_x: bool| {
        let (nap, read) = (&nap, &read);
        source::from_fn(move |c, slot: &mut [f32]| {
            if is_x {
                read.store(c.index + 1, Ordering::SeqCst);
            }
            nap();
            slot.fill(1.0);
            Ok(if c.index < 30 { slot.len() } else { 2 })
        })
    };
    let mut z = Vec::new();
    let sink = sink::for_each(|c, data: &[f32]| {
        furthest.fetch_max(read.load(Ordering::SeqCst) - c.index, Ordering::SeqCst);
        nap();
        z.extend_from_slice(data);
        Ok(())
    });
    pipeline.run(source(true), source(false), sink).unwrap();
    assert_eq!(z, [3.0; 122]);
    assert_eq!(at_once.into_inner(), 3, "they take turns");
    // This is as many chunks as there are slots, and two more.
    let furthest = furthest.into_inner();
    assert!(furthest <= 4, "{furthest}");
}

/// A run with a `Vec` and a source reads both ahead.
#[test]
fn beside_what_is_read_ahead() {
    let device = polled();
    let mut pipeline = Saxpy::new(&device).unwrap();
    for len in [0, 3, 4, 5, 60] {
        let mut y = vec![3.0; len];
        pipeline.run(source::iter(vec![1.0; len]), &mut y).unwrap();
        assert_eq!(y, vec![RESULT; len]);
    }
}

/// The same on several devices: which chunk a device has next is known before its source has filled it.
#[test]
fn beside_what_is_read_ahead_on_several_devices() {
    for count in 2..=3 {
        let devices: Vec<_> = (0..count).map(|_| polled()).collect();
        let mut saxpy = Saxpy::new(&devices).unwrap();
        let mut streams = Streams::new(&devices).unwrap();
        // The longest has more chunks than a device remembers.
        for len in [0, 3, 4, 5, 60, 61, 4 * 2100 * count] {
            let x: Vec<f32> = (0..len).map(|i| (i % 1013) as f32).collect();
            let expected: Vec<f32> = x.iter().map(|x| 3.0 + 2.0 * x).collect();
            let mut y = vec![3.0; len];
            saxpy.run(source::iter(x.clone()), &mut y).unwrap();
            assert_eq!(y, expected, "{len} items from a source");
            let mut y = vec![3.0; len];
            saxpy.run(&x, &mut y).unwrap();
            assert_eq!(y, expected, "{len} items");
            let mut z = Vec::new();
            streams.run(&x, &vec![3.0; len], sink::extend(&mut z)).unwrap();
            assert_eq!(z, expected, "{len} items to a sink");
            let mut z = Vec::new();
            streams.run(&x, source::iter(vec![3.0; len]), sink::extend(&mut z)).unwrap();
            assert_eq!(z, expected, "{len} items from a source to a sink");
        }
    }
}
