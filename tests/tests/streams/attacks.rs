//! Programs that try to read too early, to free under the device, to wait for ever, or to be refused for
//! nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::sim::{DriverCall, Effect, Fault};
use thalweg::streams::{Event, Stream};
use thalweg_tests::kernels::{add_to, double_all};
use thalweg_tests::waiting::in_time;

use super::{is_alone, is_race, kept, on_each, simulated};

on_each!(
    what_is_refused_orders_nothing,
    operations_of_nothing_order_nothing,
    what_was_pending_before_a_capture_is_waited_for,
    a_stream_that_goes_within_a_function,
    buffers_that_go_within_a_function,
    a_capture_that_fails_gives_its_buffers_back,
    functions_may_not_enqueue,
    functions_may_not_use_the_device,
    a_run_has_its_arguments_to_itself,
    an_event_that_is_asked_orders,
    a_callback_may_free_and_go_on,
    a_graph_on_a_blocking_stream,
    streams_that_go_while_others_look,
    events_that_others_record_meanwhile,
    streams_that_are_asked_while_others_wait,
    an_empty_vec_is_given_back,
    callbacks_come_though_more_are_added,
);

const N: usize = 1 << 20;

fn stream(device: &Device) -> Stream {
    Stream::new(device).expect("a stream")
}

fn buffer(device: &Device) -> DeviceBuf<f32> {
    DeviceBuf::zeroed(device, N).expect("memory")
}

fn pinned(device: &Device) -> PinnedBuf<f32> {
    PinnedBuf::zeroed(device, N).expect("memory")
}

/// The null stream has not waited for anything if nothing was enqueued on it.
fn what_is_refused_orders_nothing(device: &Device) {
    let (blocking, other) = (Stream::blocking(device).expect("a stream"), stream(device));
    let null = Stream::null(device).expect("a stream");
    let (mut x, mut z, mut y) = (buffer(device), buffer(device), pinned(device));
    other.fill(&mut z, 1.0).expect("a fill");
    for _ in 0..20 {
        blocking.fill(&mut x, 1.0).expect("a fill");
    }
    blocking.download(&x, &mut y).expect("a copy");
    // If the first is over already, it is not a race.
    let _ = null.fill(&mut z, 2.0);
    null.synchronize().expect("the device");
    assert!(y.iter().all(|&y| y == 1.0), "it was not there yet");
}

fn operations_of_nothing_order_nothing(device: &Device) {
    let (one, other) =
        (Stream::blocking(device).expect("a stream"), Stream::blocking(device).expect("a stream"));
    let null = Stream::null(device).expect("a stream");
    let mut none = DeviceBuf::<f32>::zeroed(device, 0).expect("memory");
    let (mut x, mut y) = (buffer(device), pinned(device));
    for turn in 1..4 {
        one.fill(&mut x, turn as f32).expect("a fill");
        one.download(&x, &mut y).expect("a copy");
        null.fill(&mut none, 0.0).expect("nothing");
        null.capture(|stream| stream.fill(&mut none, 1.0)).expect("a graph").launch(&null).expect("nothing");
        null.synchronize().expect("the device");
        assert_eq!(y[N - 1], turn as f32);
        // On a GPU some other test may use the null stream at this moment.
        if is_alone(device) {
            one.fill(&mut x, 0.0).expect("a fill");
            null.fill(&mut none, 0.0).expect("nothing");
            is_race(other.fill(&mut x, 0.0));
        }
        one.synchronize().expect("the device");
    }
}

/// Operations that were pending on a stream are waited for as usual while it captures.
fn what_was_pending_before_a_capture_is_waited_for(device: &Device) {
    let stream = stream(device);
    let (mut x, mut h) = (buffer(device), pinned(device));
    stream.fill(&mut x, 3.0).expect("a fill");
    stream.download(&x, &mut h).expect("a copy");
    let graph = stream.capture(|stream| {
        assert_eq!(h[7], 3.0);
        stream.fill(&mut x, 4.0)?;
        device.synchronize()
    });
    let graph = graph.expect("a graph");
    assert!(!h.is_poisoned());
    graph.launch(&stream).expect("a launch");
    stream.synchronize().expect("nothing has failed");
    assert_eq!(x.to_vec().expect("a copy")[N - 1], 4.0);
}

fn a_stream_that_goes_within_a_function(device: &Device) {
    for _ in 0..5 {
        let (one, other) = (stream(device), stream(device));
        let (mut x, mut y) = (buffer(device), pinned(device));
        one.fill(&mut x, 5.0).expect("a fill");
        one.download(&x, &mut y).expect("a copy");
        other.host(move || drop(one)).expect("a function");
        other.synchronize().expect("the device");
        assert_eq!(y[N - 1], 5.0);
    }
}

fn buffers_that_go_within_a_function(device: &Device) {
    let before = device.free_memory().expect("a number");
    {
        let (one, other) = (stream(device), stream(device));
        for _ in 0..5 {
            let (mut x, mut y) = (buffer(device), pinned(device));
            let graph = one.capture(|one| one.fill(&mut x, 1.0)).expect("a graph");
            graph.launch(&one).expect("a launch");
            one.download(&x, &mut y).expect("a copy");
            other.host(move || drop((graph, x, y))).expect("a function");
        }
        other.synchronize().expect("the device");
        // Memory that was freed elsewhere is free by the time that a later callback has returned.
        other.then(|_| ()).expect("a callback");
        other.synchronize().expect("the device");
    }
    if is_alone(device) {
        assert_eq!(device.free_memory().expect("a number"), before);
    }
}

fn a_capture_that_fails_gives_its_buffers_back(device: &Device) {
    let stream = stream(device);
    let (mut x, event) = (buffer(device), Event::new(device).expect("an event"));
    stream.fill(&mut x, 1.0).expect("a fill");
    let failed = stream.capture(|stream| {
        stream.fill(&mut x, 2.0)?;
        stream.record(&event)?;
        Err(Detail::Skipped.into())
    });
    assert!(failed.is_err());
    drop(x);
    stream.synchronize().expect("it does not wait for itself");
    stream.record(&event).expect("a record");
    event.synchronize().expect("the device");
}

/// They would wait for the stream, which waits for them.
fn functions_may_not_enqueue(device: &Device) {
    let (stream, event) = (stream(device), Event::new(device).expect("an event"));
    let (mut x, clone) = (buffer(device), stream.clone());
    let (sender, outcomes) = mpsc::channel();
    stream
        .host(move || {
            for outcome in
                [clone.fill(&mut x, 1.0), clone.record(&event), clone.wait(&event), clone.host(|| ())]
            {
                sender.send(outcome.is_err()).expect("a receiver");
            }
        })
        .expect("a function");
    stream.synchronize().expect("the device");
    assert_eq!(outcomes.iter().collect::<Vec<_>>(), [true; 4]);
}

/// A function that used the device might wait for what waits for it. Handles that it drops are released all
/// the same.
fn functions_may_not_use_the_device(device: &Device) {
    for _ in 0..20 {
        let (stream, other, event) =
            (stream(device), stream(device), Event::with_timing(device).expect("an event"));
        let mut pipeline = Doubled::new(device).expect("a pipeline");
        let mut x = DeviceBuf::from_slice(device, &[1.0_f32; 1000]).expect("memory");
        pipeline.run(&mut x, || ()).expect("a run");
        other.record(&event).expect("a record");
        let (its, (sender, outcomes)) = (device.clone(), mpsc::channel());
        let asks = move || {
            let refused = [
                Stream::new(&its).is_err(),
                Event::new(&its).is_err(),
                DeviceBuf::<f32>::zeroed(&its, 10).is_err(),
                PinnedBuf::<f32>::zeroed(&its, 10).is_err(),
                Doubled::new(&its).is_err(),
                pipeline.run(&mut x, || ()).is_err(),
                event.query().is_err(),
                other.query().is_err(),
                x.copy_to_slice(&mut [0.0; 1000]).is_err(),
                its.synchronize().is_err(),
                other.synchronize().is_err(),
                event.synchronize().is_err(),
                event.elapsed(&event).is_err(),
                its.free_memory().is_err(),
                double_all::load(&its).is_err(),
            ];
            sender.send(refused).expect("a receiver");
            drop((pipeline, x, event, other, its));
        };
        stream.host(asks).expect("a function");
        stream.synchronize().expect("the device");
        assert_eq!(outcomes.recv(), Ok([true; 15]));
    }
}

stream_pipeline! {
    pipeline Doubled {
        inout x: device [f32];
        param hold: fn();
        stage math {
            double_all<<<blocks(c.len, 256), 256>>>(c.len as u32, &mut x);
            then |_| hold();
        }
        chunk c = 1 << 18;
    }
}

static HELD: AtomicBool = AtomicBool::new(false);

/// A graph needs nobody's permission to write device memory, except that of a run.
fn a_run_has_its_arguments_to_itself(device: &Device) {
    static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (stream, mut x) = (stream(device), DeviceBuf::from_slice(device, &vec![1.0_f32; N]).expect("memory"));
    let graph = stream.capture(|stream| stream.fill(&mut x, 7.0)).expect("a graph");
    HELD.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let running = scope.spawn(|| {
            let mut doubled = Doubled::new(device).expect("a pipeline");
            let hold = || {
                while HELD.load(Ordering::SeqCst) {
                    thread::sleep(Duration::from_millis(1));
                }
            };
            doubled.run(&mut x, hold).expect("a run")
        });
        let begun = Instant::now();
        // It is refused from the start of the run until its end.
        let error = loop {
            match graph.launch(&stream) {
                Ok(()) => stream
                    .fill(&mut DeviceBuf::<f32>::zeroed(device, 1).expect("memory"), 0.0)
                    .expect("a fill"),
                Err(error) => break error,
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "the run has no hold of it");
        };
        assert!(matches!(error.detail(), Detail::HeldByRun), "{error}");
        HELD.store(false, Ordering::SeqCst);
        running.join().expect("no panic");
    });
    graph.launch(&stream).expect("the run is over");
    assert_eq!(x.to_vec().expect("a copy")[N - 1], 7.0);
}

fn an_event_that_is_asked_orders(device: &Device) {
    let (one, other) = (stream(device), stream(device));
    let (event, mut x) = (Event::new(device).expect("an event"), buffer(device));
    one.fill(&mut x, 1.0).expect("a fill");
    one.record(&event).expect("a record");
    let begun = Instant::now();
    while !event.query().expect("no failure") {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never ends");
    }
    other.fill(&mut x, 2.0).expect("the first is over");
    other.synchronize().expect("no race");
    assert_eq!(x.to_vec().expect("a copy")[0], 2.0);
}

fn a_callback_may_free_and_go_on(device: &Device) {
    let before = device.free_memory().expect("a number");
    {
        let (one, other) = (stream(device), stream(device));
        let mut z = buffer(device);
        for _ in 0..10 {
            let (mut x, next) = (buffer(device), other.clone());
            one.fill(&mut x, 1.0).expect("a fill");
            one.then(move |arrived| {
                arrived.expect("nothing has failed");
                next.fill(&mut x, 2.0).expect("that is over");
            })
            .expect("a callback");
            for _ in 0..3 {
                one.fill(&mut z, 3.0).expect("a fill");
            }
        }
        one.synchronize().expect("no race");
        other.synchronize().expect("no race");
    }
    if is_alone(device) {
        assert_eq!(device.free_memory().expect("a number"), before);
    }
}

/// Each of its roots comes after the null stream.
fn a_graph_on_a_blocking_stream(device: &Device) {
    let (blocking, other) = (Stream::blocking(device).expect("a stream"), stream(device));
    let null = Stream::null(device).expect("a stream");
    let [mut x, mut y] = [(); 2].map(|()| buffer(device));
    let fork = Event::new(device).expect("an event");
    let graph = blocking.capture(|blocking| {
        blocking.record(&fork)?;
        other.wait(&fork)?;
        blocking.fill(&mut x, 1.0)?;
        other.fill(&mut y, 2.0)
    });
    let graph = graph.expect("a graph");
    null.fill(&mut y, 9.0).expect("a fill");
    graph.launch(&blocking).expect("after the null stream");
    blocking.synchronize().expect("no race");
    assert_eq!((x.to_vec().expect("a copy")[0], y.to_vec().expect("a copy")[0]), (1.0, 2.0));
}

/// A stream that is just going is not taken for one that cannot be waited for.
fn streams_that_go_while_others_look(device: &Device) {
    for turn in 0..30 {
        let (mut x, mut y) = (buffer(device), pinned(device));
        let stream = stream(device);
        stream.fill(&mut x, turn as f32).expect("a fill");
        stream.download(&x, &mut y).expect("a copy");
        thread::scope(|scope| {
            scope.spawn(move || drop(stream));
            scope.spawn(|| assert_eq!(y[N - 1], turn as f32));
        });
        assert!(!y.is_poisoned());
    }
}

/// After a wait, only the operations that were waited for are known to be over.
fn events_that_others_record_meanwhile(device: &Device) {
    let (one, idle) = (stream(device), stream(device));
    let (event, stop) = (Arc::new(Event::new(device).expect("an event")), AtomicBool::new(false));
    let mut x = buffer(device);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::SeqCst) {
                idle.record(&event).expect("a record");
                thread::yield_now();
            }
        });
        for turn in 0..100 {
            let mut y = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
            one.fill(&mut x, turn as f32).expect("a fill");
            one.download(&x, &mut y).expect("a copy");
            one.record(&event).expect("a record");
            event.synchronize().expect("the device");
            assert_eq!([y[0], y[N - 1]], [turn as f32; 2]);
        }
        stop.store(true, Ordering::SeqCst);
    });
}

/// If one thread lets a simulated device go on a little, it goes on for the others as far as they wait.
fn streams_that_are_asked_while_others_wait(device: &Device) {
    let done = AtomicBool::new(false);
    in_time(|| {
        thread::scope(|scope| {
            let (asked, event) = (stream(device), Event::new(device).expect("an event"));
            let done = &done;
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    asked.host(|| ()).expect("a function");
                    asked.record(&event).expect("a record");
                    while !(asked.query().expect("no failure") && event.query().expect("no failure")) {}
                }
            });
            let (waits, mut x) = (stream(device), buffer(device));
            for _ in 0..300 {
                waits.fill(&mut x, 1.0).expect("a fill");
                waits.host(|| ()).expect("a function");
                waits.synchronize().expect("no failure");
            }
            done.store(true, Ordering::Relaxed);
        });
    });
}

fn an_empty_vec_is_given_back(device: &Device) {
    assert!(
        PinnedBuf::register(device, Vec::<f32>::new()).expect("no pages").into_vec().expect("it").is_empty()
    );
    let units = PinnedBuf::register(device, vec![[0_u8; 0]; 5]).expect("no pages");
    assert_eq!(units.into_vec().expect("it").len(), 5);
    let mut roomy = Vec::with_capacity(10_000);
    roomy.extend([1.0_f64, 2.0, 3.0]);
    drop(PinnedBuf::register(device, roomy).expect("pages"));
}

/// A thread adds callbacks without end, and never waits.
fn callbacks_come_though_more_are_added(device: &Device) {
    let (stream, called) = (stream(device), Arc::new(AtomicBool::new(false)));
    let begun = Instant::now();
    while !called.load(Ordering::SeqCst) {
        let called = Arc::clone(&called);
        stream.then(move |_| called.store(true, Ordering::SeqCst)).expect("a callback");
        thread::sleep(Duration::from_millis(1));
        assert!(begun.elapsed() < Duration::from_secs(20), "it is never called");
    }
}

/// A lost device no longer calls anything, and nobody waits for it.
#[test]
fn callbacks_of_a_lost_device_are_not_waited_for() {
    let device = kept(Simulation::h200().with_fault(Fault::nth(DriverCall::Fill, 1, Effect::Lost)));
    let (done, waited) = mpsc::channel();
    thread::spawn(move || {
        let (stream, mut x) = (stream(&device), buffer(&device));
        stream.fill(&mut x, 1.0).expect("it fails on the device");
        stream.then(|_| ()).expect("a callback");
        done.send(stream.synchronize().is_err()).expect("a receiver");
    });
    assert_eq!(waited.recv_timeout(Duration::from_secs(20)), Ok(true));
}

/// While a thread asks, the device does not run ahead of the host's time.
#[test]
fn asking_does_not_change_what_overlaps() {
    let time = |asks: bool| {
        let device = simulated();
        let (one, other) = (stream(&device), stream(&device));
        let (mut x, mut y) = (buffer(&device), buffer(&device));
        let (h, [start, stop]) =
            (pinned(&device), [(); 2].map(|()| Event::with_timing(&device).expect("an event")));
        device.synchronize().expect("the device");
        one.record(&start).expect("a record");
        one.upload(&h, &mut x).expect("a copy");
        if asks {
            assert!(!one.query().expect("no failure"), "a copy takes longer");
        }
        other.fill(&mut y, 1.0).expect("a fill");
        other.record(&stop).expect("a record");
        stop.synchronize().expect("the device");
        start.elapsed(&stop).expect("both are complete")
    };
    let (without, with) = (time(false), time(true));
    assert!(with < without + Duration::from_micros(5), "{with:?}, {without:?}");
}

#[test]
fn a_stream_whose_capture_is_over_carries_out() {
    let device = simulated();
    let add = add_to::load(&device).expect("a kernel");
    let (one, other, fork) =
        (stream(&device), stream(&device), Event::with_timing(&device).expect("an event"));
    let mut x = buffer(&device);
    one.capture(|one| {
        one.record(&fork)?;
        other.wait(&fork)
    })
    .expect("a graph");
    add.launch(other.config(blocks(N, 256), 256, 0), N as u32, 1.0, &mut x).expect("a launch");
    assert_eq!(x.to_vec().expect("a copy")[0], 1.0);
    assert!(matches!(fork.elapsed(&fork).unwrap_err().detail(), Detail::EventOfAGraph { .. }));
}

/// Each request for a result that is not valid returns an error: of a launch, a copy, or a lost device.
#[test]
fn results_of_what_has_failed_are_errors() {
    for effect in [Effect::Fails, Effect::Lost] {
        for (call, n) in [(DriverCall::Launch, 0), (DriverCall::Copy, 0)] {
            let device = kept(Simulation::h200().with_fault(Fault::nth(call, n, effect)));
            let add = add_to::load(&device).expect("a kernel");
            let (mut x, mut y) = (buffer(&device), pinned(&device));
            let one = stream(&device);
            add.launch(one.config(blocks(N, 256), 256, 0), N as u32, 1.0, &mut x)
                .expect("it fails on the device");
            one.download(&x, &mut y).expect("it fails on the device");
            let error = y.wait().expect_err("there is no result");
            assert!(error.to_string().contains("a fault was injected") || y.is_poisoned(), "{error}");
            if call == DriverCall::Launch {
                assert!(x.to_vec().is_err(), "{effect:?}");
            }
            // So do the device and the stream, whichever is asked first.
            assert!(device.synchronize().is_err());
            if effect == Effect::Fails {
                one.synchronize().expect("it was told");
                // Data that are written anew are valid.
                one.fill(&mut x, 3.0).expect("a fill");
                one.download(&x, &mut y).expect("a copy");
                assert_eq!((x.to_vec().expect("a copy")[0], y.wait().expect("a copy")[N - 1]), (3.0, 3.0));
                x.copy_from_slice(&vec![4.0; N]).expect("a copy");
                assert_eq!(x.to_vec().expect("a copy")[0], 4.0);
            }
        }
    }
}

/// It reports the failure of a stream that is gone, too.
#[test]
fn a_device_tells_what_its_streams_did_not() {
    let device = kept(Simulation::h200().with_fault(Fault::nth(DriverCall::Fill, 1, Effect::Fails)));
    let mut x = buffer(&device);
    stream(&device).fill(&mut x, 1.0).expect("it fails on the device");
    let error = device.synchronize().unwrap_err();
    assert!(error.to_string().contains("operation `fill`"), "{error}");
    device.synchronize().expect("it was told");
    assert!(x.to_vec().is_err());
}

/// A race that nobody asks for is found all the same, and reported in place of the panic that it causes.
#[test]
fn exploring_finds_what_nobody_asks_for() {
    for (asks, asserts) in [(false, false), (true, false), (false, true)] {
        let explored = thalweg::explore::explore(3, 20, |device| {
            let add = add_to::load(device)?;
            let (one, other) = (Stream::new(device)?, Stream::new(device)?);
            // SAFETY: the simulated device carries out nothing that races.
            let other = unsafe { other.unchecked() };
            let mut x = DeviceBuf::zeroed(device, 100)?;
            let h = PinnedBuf::from_slice(device, &[1.0_f32; 100])?;
            let mut y = PinnedBuf::zeroed(device, 100)?;
            one.upload(&h, &mut x)?;
            add.launch(other.config(1, 128, 0), 100, 1.0, &mut x)?;
            other.download(&x, &mut y)?;
            if asks {
                device.synchronize()?;
            }
            assert!(!asserts || y[0] == 2.0, "wrong");
            Ok(())
        });
        let error = explored.unwrap_err();
        let Detail::Schedule { cause, .. } = error.detail() else { panic!("{error}") };
        assert!(matches!(**cause, Detail::Race { .. }), "{asks} {asserts}: {error}");
    }
}
