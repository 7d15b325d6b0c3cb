//! Copies, launches, events.

use std::time::{Duration, Instant};

use thalweg::__private::Detail;
use thalweg::kernel::blocks;
use thalweg::streams::{Event, Priority, Stream};
use thalweg::{Device, DeviceBuf, PinnedBuf};
use thalweg_tests::kernels::{add_to, axpy_each, double_all};

use super::{on_each, simulated};

on_each!(
    a_program_of_two_streams,
    a_result_that_is_read_is_there,
    events_order_and_tell_the_time,
    a_stream_is_asked_until_it_is_done,
    chunks_of_one_buffer_on_their_own_streams,
    what_is_waited_for_twice_is_there,
    a_pipeline_comes_after_streams,
    a_stream_waits_for_another,
    nothing_at_all,
    what_is_refused_uses_nothing,
    several_threads_have_a_stream_each,
    a_stream_is_shared_by_threads,
);

const N: usize = 10_000;

fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| (i % 257) as f32).collect()
}

fn a_program_of_two_streams(device: &Device) {
    let (up, math) = (Stream::new(device).expect("a stream"), Stream::new(device).expect("a stream"));
    let axpy = axpy_each::load(device).expect("a kernel");
    let x = PinnedBuf::from_slice(device, &numbers(N)).expect("memory");
    let mut y = PinnedBuf::from_slice(device, &vec![1.0; N]).expect("memory");
    let mut dx = DeviceBuf::zeroed(device, N).expect("memory");
    let mut dy = DeviceBuf::zeroed(device, N).expect("memory");
    let loaded = Event::new(device).expect("an event");
    for _ in 0..3 {
        up.upload(&x, &mut dx).expect("a copy");
        up.upload(&y, &mut dy).expect("a copy");
        up.record(&loaded).expect("a record");
        math.wait(&loaded).expect("a wait");
        axpy.launch(math.config(blocks(N, 256), 256, 0), N as u32, 2.0, &dx, &mut dy).expect("a launch");
        math.download(&dy, &mut y).expect("a copy");
        up.wait_stream(&math).expect("a wait");
    }
    math.synchronize().expect("the device");
    for (i, &y) in y.iter().enumerate() {
        assert_eq!(y, 1.0 + 6.0 * (i % 257) as f32, "{i}");
    }
}

/// There is no wait: reading the memory waits.
fn a_result_that_is_read_is_there(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut x = PinnedBuf::from_slice(device, &numbers(N)).expect("memory");
    let mut on_device = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let double = double_all::load(device).expect("a kernel");
    stream.upload(&x, &mut on_device).expect("a copy");
    // The upload may still read it, so writing waits.
    x.fill(-1.0);
    double.launch(stream.config(blocks(N, 128), 128, 0), N as u32, &mut on_device).expect("a launch");
    stream.download(&on_device, &mut x).expect("a copy");
    assert_eq!(x[300], 2.0 * 43.0);
    stream.fill(&mut on_device, 7.0).expect("a fill");
    assert_eq!(on_device.to_vec().expect("a copy"), [7.0; N]);
    stream.fill(&mut on_device, 8.0).expect("a fill");
    on_device.copy_from_slice(&[9.0; N]).expect("a copy");
    assert_eq!(on_device.to_vec().expect("a copy"), [9.0; N]);
}

fn events_order_and_tell_the_time(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let (start, stop) = (Event::with_timing(device).expect("one"), Event::with_timing(device).expect("one"));
    let order = Event::new(device).expect("one");
    let mut x = DeviceBuf::<f32>::zeroed(device, 1 << 24).expect("memory");
    for event in [&start, &order] {
        assert!(event.query().expect("never recorded"), "there is nothing to wait for");
        event.synchronize().expect("never recorded");
    }
    let error = start.elapsed(&stop).unwrap_err();
    assert!(matches!(error.detail(), Detail::NeverRecorded), "{error}");
    assert!(matches!(start.elapsed(&order).unwrap_err().detail(), Detail::NoTiming));
    stream.record(&start).expect("a record");
    stream.fill(&mut x, 1.0).expect("a fill");
    stream.record(&stop).expect("a record");
    if device.is_simulated() {
        // The simulated device does nothing before it is waited for.
        let error = start.elapsed(&stop).unwrap_err();
        assert!(matches!(error.detail(), Detail::NotComplete), "{error}");
    }
    stop.synchronize().expect("the device");
    let time = start.elapsed(&stop).expect("both are complete");
    // These are 64 MiB: no memory is faster than 16 TB/s.
    assert!((Duration::from_micros(4)..Duration::from_secs(1)).contains(&time), "{time:?}");
    assert_eq!(stop.elapsed(&start).expect("both are complete"), Duration::ZERO);
    assert!(stop.query().expect("no failure"));
}

fn a_stream_is_asked_until_it_is_done(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    assert!(stream.query().expect("nothing was enqueued"));
    let (mut x, done) =
        (DeviceBuf::<f32>::zeroed(device, 1 << 22).expect("memory"), Event::new(device).expect("one"));
    for _ in 0..20 {
        stream.fill(&mut x, 1.0).expect("a fill");
    }
    stream.record(&done).expect("a record");
    let begun = Instant::now();
    while !stream.query().expect("no failure") {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never ends");
    }
    assert!(done.query().expect("no failure"));
    stream.fill(&mut x, 2.0).expect("a fill");
    stream.record(&done).expect("a record");
    while !done.query().expect("no failure") {
        assert!(begun.elapsed() < Duration::from_secs(20), "it never ends");
    }
}

/// The tutorials' first program with streams: as many streams as chunks, each with its part of one buffer.
fn chunks_of_one_buffer_on_their_own_streams(device: &Device) {
    const CHUNKS: usize = 8;
    let (axpy, chunk) = (axpy_each::load(device).expect("a kernel"), N / CHUNKS);
    let x = PinnedBuf::from_slice(device, &numbers(N)).expect("memory");
    let mut y = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
    let mut dx = DeviceBuf::zeroed(device, N).expect("memory");
    let mut dy = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    for c in 0..CHUNKS {
        let (stream, range) = (Stream::new(device).expect("a stream"), c * chunk..(c + 1) * chunk);
        stream
            .upload(x.slice(range.clone()).expect("a part"), dx.slice_mut(range.clone()).expect("a part"))
            .expect("a copy");
        let (from, to) =
            (dx.slice(range.clone()).expect("a part"), dy.slice_mut(range.clone()).expect("a part"));
        let config = stream.config(blocks(chunk, 64), 64, 0);
        axpy.launch(config, chunk as u32, 3.0, from, to).expect("a launch");
        stream
            .download(dy.slice(range.clone()).expect("a part"), y.slice_mut(range).expect("a part"))
            .expect("a copy");
    }
    for (i, &y) in y.iter().enumerate() {
        assert_eq!(y, 3.0 * (i % 257) as f32, "{i}");
    }
}

fn what_is_waited_for_twice_is_there(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut x = DeviceBuf::<u8>::zeroed(device, 77).expect("memory");
    let mut back = PinnedBuf::<u8>::zeroed(device, 77).expect("memory");
    stream.fill(&mut x, 5).expect("a fill");
    stream.download(&x, &mut back).expect("a copy");
    for _ in 0..2 {
        stream.synchronize().expect("the device");
        device.synchronize().expect("the device");
        assert_eq!(back[..], [5; 77]);
    }
}

thalweg::stream_pipeline! {
    pipeline Double {
        input x: pinned [f32];
        inout z: device [f32];
        output y: [f32];
        chunk c = 1000;
        stage up { copy x -> dx; }
        stage math {
            double_all<<<blocks(c.len, 128), 128>>>(c.len as u32, &mut dx);
            double_all<<<blocks(c.len, 128), 128>>>(c.len as u32, &mut z);
        }
        stage down { copy dx -> y; }
    }
}

/// A run begins when the operations of streams on its arguments are over.
fn a_pipeline_comes_after_streams(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut x = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
    let mut z = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let mut double = Double::new(device).expect("a pipeline");
    for turn in 1..4 {
        stream.fill(&mut z, turn as f32).expect("a fill");
        stream.download(&z, &mut x).expect("a copy");
        let mut y = vec![0.0; N];
        double.run(&x, &mut z, &mut y).expect("a run");
        assert_eq!(y, vec![2.0 * turn as f32; N]);
        stream.download(&z, &mut x).expect("a copy");
        assert_eq!(x[..], vec![2.0 * turn as f32; N]);
    }
}

fn a_stream_waits_for_another(device: &Device) {
    let streams: Vec<_> = (0..4).map(|_| Stream::new(device).expect("a stream")).collect();
    let (add, mut x) =
        (add_to::load(device).expect("a kernel"), DeviceBuf::<f32>::zeroed(device, N).expect("memory"));
    for turn in 0..40 {
        let [before, now] = [turn, turn + 1].map(|turn| &streams[turn % 4]);
        now.wait_stream(before).expect("a wait");
        add.launch(now.config(blocks(N, 256), 256, 0), N as u32, 1.0, &mut x).expect("a launch");
    }
    assert_eq!(x.to_vec().expect("a copy"), vec![40.0; N]);
}

/// Lengths of 0 and 1.
/// Otherwise memory of a copy that was refused for its other side would look as if it were in use.
fn what_is_refused_uses_nothing(device: &Device) {
    let [one, other, third] = [(); 3].map(|()| Stream::new(device).expect("a stream"));
    let mut x = PinnedBuf::from_slice(device, &numbers(N)).expect("memory");
    let [mut raced, mut free] = [(); 2].map(|()| DeviceBuf::zeroed(device, N).expect("memory"));
    one.fill(&mut raced, 1.0).expect("a fill");
    for _ in 0..2 {
        let refused = other.upload(&x, &mut raced).expect_err("nothing orders it with the fill");
        assert!(matches!(refused.detail(), Detail::Race { .. }), "{refused}");
    }
    third.download(&free, &mut x).expect("nobody reads the page-locked memory");
    third.upload(&x, &mut free).expect("a copy");
    assert_eq!(free.to_vec().expect("a copy"), vec![0.0; N]);
    assert_eq!(raced.to_vec().expect("a copy"), vec![1.0; N]);
}

fn nothing_at_all(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let add = add_to::load(device).expect("a kernel");
    for n in [0, 1] {
        let mut x = DeviceBuf::<f32>::zeroed(device, n).expect("memory");
        let mut y = PinnedBuf::<f32>::zeroed(device, n).expect("memory");
        stream.upload(&y, &mut x).expect("a copy");
        stream.fill(&mut x, 4.0).expect("a fill");
        add.launch(stream.config(blocks(n, 256), 256, 0), n as u32, 1.0, &mut x).expect("a launch");
        stream.download(&x, &mut y).expect("a copy");
        stream
            .upload(y.slice(n..).expect("none"), x.slice_mut(..0).expect("none"))
            .expect("a copy of nothing");
        assert_eq!(y[..], vec![5.0; n]);
        let units = DeviceBuf::<[u8; 0]>::zeroed(device, 5).expect("memory");
        let mut host = PinnedBuf::<[u8; 0]>::zeroed(device, 5).expect("memory");
        stream.download(&units, &mut host).expect("a copy of nothing");
        stream.synchronize().expect("the device");
    }
}

fn several_threads_have_a_stream_each(device: &Device) {
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                let stream = Stream::new(device).expect("a stream");
                let add = add_to::load(device).expect("a kernel");
                for _ in 0..20 {
                    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
                    let mut y = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
                    let config = stream.config(blocks(N, 256), 256, 0);
                    add.launch(config, N as u32, thread as f32, &mut x).expect("a launch");
                    stream.download(&x, &mut y).expect("a copy");
                    assert_eq!(y[N - 1], thread as f32);
                }
            });
        }
    });
}

fn a_stream_is_shared_by_threads(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let mut parts = DeviceBuf::<f32>::zeroed(device, 4 * N).expect("memory");
    let mut whole = parts.slice_mut(..).expect("all of it");
    let (first, second) = whole.split_at_mut(2 * N).expect("it is as long");
    std::thread::scope(|scope| {
        for (index, mut half) in [first, second].into_iter().enumerate() {
            let stream = stream.clone();
            scope.spawn(move || {
                for _ in 0..50 {
                    let part = half.get_mut(..N).expect("a part");
                    stream.fill(part, index as f32 + 1.0).expect("a fill");
                }
                stream.synchronize().expect("the device");
            });
        }
    });
    let all = parts.to_vec().expect("a copy");
    assert_eq!([all[0], all[N], all[2 * N], all[3 * N]], [1.0, 0.0, 2.0, 0.0]);
}

#[test]
fn arguments_that_do_not_fit() {
    let (device, other) = (simulated(), simulated());
    let (stream, foreign) = (Stream::new(&device).expect("one"), Stream::new(&other).expect("one"));
    let mut x = DeviceBuf::<f32>::zeroed(&device, 8).expect("memory");
    let mut h = PinnedBuf::<f32>::zeroed(&device, 9).expect("memory");
    let error = stream.upload(&h, &mut x).unwrap_err();
    assert!(matches!(error.detail(), Detail::CopyLength { from: 9, to: 8 }), "{error}");
    assert_eq!(error.detail().to_string(), "the copy's source has 9 elements, but its destination has 8");
    for error in [
        foreign.download(&x, h.slice_mut(..8).expect("a part")).unwrap_err(),
        foreign.fill(&mut x, 1.0).unwrap_err(),
        foreign.record(&Event::new(&device).expect("one")).unwrap_err(),
        foreign.wait_stream(&stream).unwrap_err(),
    ] {
        assert!(matches!(error.detail(), Detail::StreamOfOtherDevice { .. }), "{error}");
    }
    let add = add_to::load(&device).expect("a kernel");
    let error = add.launch(stream.config(1, 2048, 0), 8, 1.0, &mut x).unwrap_err();
    assert!(matches!(error.detail(), Detail::LaunchLimit { .. }), "{error}");
    assert!(error.to_string().contains("operation `add_to`"), "{error}");
    assert!(error.to_string().contains("basics.rs"), "{error}");
    let error = add.launch(foreign.config(1, 32, 0), 8, 1.0, &mut x).unwrap_err();
    assert!(matches!(error.detail(), Detail::StreamOfOtherDevice { .. }), "{error}");
    assert!(device.priorities().contains(&0) && device.priorities().start() <= device.priorities().end());
    let urgent = Stream::with_priority(&device, Priority::High).expect("one");
    assert_eq!(urgent.priority(), *device.priorities().start());
    assert_eq!(
        Stream::with_priority(&device, Priority::Level(99)).expect("one").priority(),
        *device.priorities().end()
    );
}
