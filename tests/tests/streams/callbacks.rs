//! Functions of the host.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use thalweg::__private::Detail;
use thalweg::kernel::blocks;
use thalweg::streams::Stream;
use thalweg::{Device, DeviceBuf, PinnedBuf};
use thalweg_tests::kernels::add_to;

use super::{is_alone, on_each};

on_each!(
    each_batch_triggers_the_next,
    callbacks_come_in_order,
    a_callback_sees_what_came_before,
    a_function_holds_its_stream_up,
    panics_are_errors,
    what_a_function_has_is_dropped,
    a_function_may_not_wait,
);

const N: usize = 5000;

struct Batches {
    stream: Stream,
    add: add_to,
    x: DeviceBuf<f32>,
    done: mpsc::Sender<Vec<f32>>,
}

impl Batches {
    fn next(mut self, left: usize) {
        if left == 0 {
            let x = self.x.to_vec().expect("a callback may wait");
            return self.done.send(x).expect("a receiver");
        }
        let config = self.stream.config(blocks(N, 256), 256, 0);
        self.add.launch(config, N as u32, 1.0, &mut self.x).expect("a callback may launch");
        let stream = self.stream.clone();
        stream
            .then(move |arrived| {
                arrived.expect("nothing has failed");
                self.next(left - 1);
            })
            .expect("a callback");
    }
}

/// The tutorials' callback, "trigger next batch of work".
fn each_batch_triggers_the_next(device: &Device) {
    let (done, results) = mpsc::channel();
    let stream = Stream::new(device).expect("a stream");
    let (add, x) = (add_to::load(device).expect("a kernel"), DeviceBuf::zeroed(device, N).expect("memory"));
    Batches { stream: stream.clone(), add, x, done }.next(10);
    // Nobody waits for the device.
    assert_eq!(results.recv_timeout(Duration::from_secs(20)), Ok(vec![10.0; N]));
}

fn callbacks_come_in_order(device: &Device) {
    let (one, other) = (Stream::new(device).expect("a stream"), Stream::new(device).expect("a stream"));
    let calls = Arc::new(Mutex::new(Vec::new()));
    for turn in 0..20 {
        for (name, stream) in [&one, &other].into_iter().enumerate() {
            let calls = Arc::clone(&calls);
            stream.then(move |_| calls.lock().expect("no panic").push((name, turn))).expect("a callback");
        }
    }
    one.synchronize().expect("the device");
    other.synchronize().expect("the device");
    let calls = calls.lock().expect("no panic");
    for name in [0, 1] {
        let of = calls.iter().filter(|(of, _)| *of == name).map(|(_, turn)| *turn);
        assert_eq!(of.collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    }
}

fn a_callback_sees_what_came_before(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let sums = Arc::new(Mutex::new(Vec::new()));
    for turn in 0..8 {
        let mut y = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
        stream.fill(&mut x, turn as f32).expect("a fill");
        stream.download(&x, &mut y).expect("a copy");
        let sums = Arc::clone(&sums);
        if turn % 2 == 0 {
            stream
                .then(move |_| sums.lock().expect("no panic").push(y.iter().sum::<f32>()))
                .expect("a callback");
        } else {
            stream
                .host(move || sums.lock().expect("no panic").push(y.iter().sum::<f32>()))
                .expect("a function");
        }
    }
    stream.synchronize().expect("the device");
    let mut sums = sums.lock().expect("no panic").clone();
    sums.sort_by(f32::total_cmp);
    assert_eq!(sums, (0..8).map(|turn| (turn * N) as f32).collect::<Vec<_>>());
}

/// Operations after a function see its results.
fn a_function_holds_its_stream_up(device: &Device) {
    let (stream, count) = (Stream::new(device).expect("a stream"), Arc::new(AtomicUsize::new(0)));
    for turn in 0..10 {
        let count = Arc::clone(&count);
        stream
            .host(move || {
                std::thread::sleep(Duration::from_millis(2));
                assert_eq!(count.fetch_add(1, Ordering::SeqCst), turn);
            })
            .expect("a function");
    }
    stream.synchronize().expect("the device");
    assert_eq!(count.load(Ordering::SeqCst), 10);
}

fn panics_are_errors(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    stream.then(|_| panic!("in a callback")).expect("a callback");
    let error = stream.synchronize().unwrap_err();
    assert!(matches!(error.detail(), Detail::Callback { message } if message == "in a callback"), "{error}");
    assert!(error.to_string().contains("callbacks.rs"), "{error}");
    stream.host(|| panic!("in a function")).expect("a function");
    let error = stream.synchronize().unwrap_err();
    assert!(matches!(error.detail(), Detail::Callback { message } if message == "in a function"), "{error}");
    stream.synchronize().expect("it was reported");
}

/// The same for device memory, which is freed elsewhere.
fn what_a_function_has_is_dropped(device: &Device) {
    let before = device.free_memory().expect("a number");
    let stream = Stream::new(device).expect("a stream");
    let dropped = Arc::new(());
    for _ in 0..4 {
        let x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
        let (y, held) = (PinnedBuf::<f32>::zeroed(device, N).expect("memory"), Arc::clone(&dropped));
        stream.host(move || drop((x, y, held))).expect("a function");
        let x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
        let held = Arc::clone(&dropped);
        stream.then(move |_| drop((x, held))).expect("a callback");
    }
    stream.synchronize().expect("the device");
    // Memory that was freed elsewhere is free by the time that a later callback has returned.
    stream.then(|_| ()).expect("a callback");
    stream.synchronize().expect("the device");
    assert_eq!(Arc::strong_count(&dropped), 1);
    if is_alone(device) {
        assert_eq!(device.free_memory().expect("a number"), before);
    }
}

fn a_function_may_not_wait(device: &Device) {
    let (stream, other) = (Stream::new(device).expect("a stream"), Stream::new(device).expect("a stream"));
    let (sender, errors) = mpsc::channel();
    stream.host(move || sender.send(other.synchronize()).expect("a receiver")).expect("a function");
    stream.synchronize().expect("the device");
    assert!(errors.recv().expect("it was called").is_err());
}

/// Callbacks of a stream in which something has failed get the error.
#[test]
fn callbacks_are_told_of_failures() {
    use thalweg::sim::{DriverCall, Effect, Fault, Simulation};
    let fault = Fault::nth(DriverCall::Fill, 1, Effect::Fails);
    let device = Device::simulated(Simulation::h200().with_fault(fault));
    let stream = Stream::new(&device).expect("a stream");
    let mut x = DeviceBuf::<f32>::zeroed(&device, N).expect("memory");
    let (sender, arrivals) = mpsc::channel();
    let tell = |sender: &mpsc::Sender<_>| {
        let sender = sender.clone();
        stream
            .then(move |arrived| sender.send(arrived.map_err(|error| error.to_string())).expect("a receiver"))
    };
    tell(&sender).expect("a callback");
    stream.fill(&mut x, 1.0).expect("it fails on the device");
    tell(&sender).expect("a callback");
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    stream.host(move || count.store(1, Ordering::SeqCst)).expect("a function");
    let error = stream.synchronize().unwrap_err();
    assert!(error.to_string().contains("operation `fill`"), "{error}");
    assert_eq!(arrivals.recv(), Ok(Ok(())));
    assert!(arrivals.recv().expect("it was called").unwrap_err().contains("something before it has failed"));
    assert_eq!(called.load(Ordering::SeqCst), 0);
    stream.fill(&mut x, 2.0).expect("a fill");
    assert_eq!(x.to_vec().expect("the stream works again")[0], 2.0);
}
