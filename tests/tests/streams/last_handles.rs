//! The last handles of an object are dropped at the same time, one of them in a function of a stream, where
//! nobody may wait. Their memory is given back once, and nobody waits for ever.
//! given back once, and nobody waits for ever.

use std::any::Any;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::streams::Stream;
use thalweg::{Device, DeviceBuf, PinnedBuf};

use super::{is_alone, on_each};

on_each!(
    the_last_handles_of_a_stream,
    the_last_handles_of_memory,
    the_last_graphs_of_memory,
    a_vec_comes_back_though_its_graph_went_in_a_function,
    a_function_that_panics_gives_back_what_it_has,
    what_a_forgotten_graph_uses_stays,
);

const N: usize = 1 << 12;
const TURNS: usize = 10;

fn stream(device: &Device) -> Stream {
    Stream::new(device).expect("a stream")
}

/// Does something that must end in time.
fn limited(work: impl FnOnce()) {
    let (done, is_done) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        if is_done.recv_timeout(Duration::from_secs(120)) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("somebody waits for ever");
            std::process::abort();
        }
    });
    work();
    drop(done);
    watch.join().expect("no panic");
}

/// Drops one of the two in a function of a stream and the other on another thread, at the same moment.
fn drop_both(device: &Device, in_function: impl Send + 'static, elsewhere: impl Send) {
    let runner = stream(device);
    let meeting = Arc::new(Barrier::new(2));
    let its = Arc::clone(&meeting);
    let function = move || {
        its.wait();
        drop(in_function);
    };
    runner.host(function).expect("a function");
    thread::scope(|scope| {
        scope.spawn(|| {
            let elsewhere = elsewhere;
            meeting.wait();
            drop(elsewhere);
        });
        // A simulated device goes on while a thread waits for it.
        runner.synchronize().expect("the device");
    });
}

/// Waits for the handles that were dropped in functions: by then a later callback has returned.
fn settle(device: &Device) {
    let stream = stream(device);
    stream.then(|_| ()).expect("a callback");
    stream.synchronize().expect("the device");
}

fn the_last_handles_of_a_stream(device: &Device) {
    limited(|| {
        for turn in 0..TURNS {
            let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
            let mut y = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
            let one = stream(device);
            one.fill(&mut x, turn as f32).expect("a fill");
            one.download(&x, &mut y).expect("a copy");
            drop_both(device, one.clone(), one);
            assert_eq!((y[0], y[N - 1]), (turn as f32, turn as f32));
        }
    });
}

fn the_last_handles_of_memory(device: &Device) {
    let before = device.free_memory().expect("a number");
    limited(|| {
        for _ in 0..TURNS {
            let one = stream(device);
            let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
            let y = PinnedBuf::register(device, vec![3.0_f32; N]).expect("pages");
            let graph = one.capture(|one| one.upload(&y, &mut x)).expect("a graph");
            graph.launch_with(&one, &y).expect("a launch");
            // The graph has both, too.
            drop_both(device, graph, (x, y));
        }
        settle(device);
    });
    if is_alone(device) {
        assert_eq!(device.free_memory().expect("a number"), before);
    }
}

fn the_last_graphs_of_memory(device: &Device) {
    let before = device.free_memory().expect("a number");
    limited(|| {
        for _ in 0..TURNS {
            let one = stream(device);
            let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
            let [graph, other] =
                [1.0, 2.0].map(|value| one.capture(|one| one.fill(&mut x, value)).expect("a graph"));
            drop(x);
            graph.launch(&one).expect("a launch");
            other.launch(&one).expect("a launch");
            drop_both(device, (one.clone(), graph), (other, one));
        }
        settle(device);
    });
    if is_alone(device) {
        assert_eq!(device.free_memory().expect("a number"), before);
    }
}

/// A dropped graph has no memory, even if the thread that waits for its launches has not reached it.
fn a_vec_comes_back_though_its_graph_went_in_a_function(device: &Device) {
    limited(|| {
        let (busy, runner) = (stream(device), stream(device));
        let x = PinnedBuf::register(device, vec![3.0_f32; N]).expect("pages");
        let mut on_device = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
        let graph = runner.capture(|stream| stream.upload(&x, &mut on_device)).expect("a graph");
        graph.launch_with(&runner, &x).expect("a launch");
        // The thread for callbacks is busy.
        let ((entered, is_entered), (go, wait)) = (mpsc::channel::<()>(), mpsc::channel::<()>());
        let callback = move |_| {
            drop(entered);
            let _ = wait.recv();
        };
        busy.then(callback).expect("a callback");
        let _ = is_entered.recv();
        runner.host(move || drop(graph)).expect("a function");
        runner.synchronize().expect("the device");
        let back = x.into_vec();
        drop(go);
        assert_eq!(back.expect("no graph has it"), [3.0; N]);
        busy.synchronize().expect("the device");
        assert_eq!(on_device.to_vec().expect("a copy"), [3.0; N]);
    });
}

fn a_function_that_panics_gives_back_what_it_has(device: &Device) {
    let before = device.free_memory().expect("a number");
    limited(|| {
        let (one, runner) = (stream(device), stream(device));
        let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
        let y = PinnedBuf::register(device, vec![3.0_f32; N]).expect("pages");
        let graph = one.capture(|one| one.upload(&y, &mut x)).expect("a graph");
        graph.launch_with(&one, &y).expect("a launch");
        let function = move || {
            let _all = (graph, one, x, y);
            panic!("in a function");
        };
        runner.host(function).expect("a function");
        let error = runner.synchronize().unwrap_err();
        assert!(
            matches!(error.detail(), Detail::Callback { message } if message == "in a function"),
            "{error}"
        );
        settle(device);
    });
    if is_alone(device) {
        assert_eq!(device.free_memory().expect("a number"), before);
    }
}

fn what_a_forgotten_graph_uses_stays(device: &Device) {
    // It is never dropped, as by `std::mem::forget`; but a leak checker finds it.
    static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    limited(|| {
        let one = stream(device);
        let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
        let y = PinnedBuf::register(device, vec![3.0_f32; N]).expect("pages");
        let graph = one.capture(|one| one.upload(&y, &mut x)).expect("a graph");
        graph.launch_with(&one, &y).expect("a launch");
        let before = device.free_memory().expect("a number");
        KEPT.lock().expect("no panic").push(Box::new((graph, one)));
        drop(x);
        let error = y.into_vec().unwrap_err();
        assert!(matches!(error.detail(), Detail::NotAVec { .. }), "{error}");
        assert!(!is_alone(device) || device.free_memory().expect("a number") == before);
    });
}
