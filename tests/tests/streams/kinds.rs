//! The null stream, streams that wait for it, and those of threads.

use std::thread;

use thalweg::__private::Detail;
use thalweg::kernel::blocks;
use thalweg::streams::Stream;
use thalweg::{Device, DeviceBuf, PinnedBuf};
use thalweg_tests::kernels::add_to;

use super::{is_race, on_each, simulated};

on_each!(
    the_null_stream_orders_blocking_streams,
    the_null_stream_orders_no_others,
    a_thread_has_a_stream_of_its_own,
    handles_of_one_stream,
);

const N: usize = 20_000;

/// A launch on a blocking stream, one on the null stream and one on another blocking stream come one after
/// another.
fn the_null_stream_orders_blocking_streams(device: &Device) {
    let null = Stream::null(device).expect("a stream");
    let (one, other) =
        (Stream::blocking(device).expect("a stream"), Stream::blocking(device).expect("a stream"));
    let add = add_to::load(device).expect("a kernel");
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let launch = |stream: &Stream, x: &mut DeviceBuf<f32>| {
        add.launch(stream.config(blocks(N, 256), 256, 0), N as u32, 1.0, x)
    };
    for _ in 0..10 {
        for stream in [&one, &null, &other, &null] {
            launch(stream, &mut x).expect("the null stream is between them");
        }
    }
    launch(&one, &mut x).expect("after the null stream");
    is_race(launch(&other, &mut x));
    let mut y = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
    null.download(&x, &mut y).expect("after both");
    assert_eq!([y[0], y[N - 1]], [41.0; 2]);
}

fn the_null_stream_orders_no_others(device: &Device) {
    let (null, other) = (Stream::null(device).expect("a stream"), Stream::new(device).expect("a stream"));
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    null.fill(&mut x, 1.0).expect("a fill");
    is_race(other.fill(&mut x, 2.0));
    null.synchronize().expect("the device");
    other.fill(&mut x, 2.0).expect("the host has waited");
    is_race(null.fill(&mut x, 3.0));
    other.synchronize().expect("the device");
    assert_eq!(x.to_vec().expect("a copy")[..2], [2.0; 2]);
}

fn a_thread_has_a_stream_of_its_own(device: &Device) {
    let own = Stream::per_thread(device).expect("a stream");
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    own.fill(&mut x, 1.0).expect("a fill");
    Stream::per_thread(device).expect("the same stream").fill(&mut x, 2.0).expect("in order");
    thread::scope(|scope| {
        scope.spawn(|| {
            for error in
                [own.fill(&mut x, 3.0).unwrap_err(), own.synchronize().unwrap_err(), own.query().unwrap_err()]
            {
                assert!(matches!(error.detail(), Detail::StreamOfAnotherThread), "{error}");
            }
            let its = Stream::per_thread(device).expect("another stream");
            is_race(its.fill(&mut x, 3.0));
            // Looking at the memory waits for the stream, whichever thread has enqueued the copy.
            assert_eq!(x.to_vec().expect("a copy")[..2], [2.0; 2]);
            its.fill(&mut x, 4.0).expect("that is over");
            // The null stream waits for it, too.
            Stream::null(device).expect("a stream").fill(&mut x, 5.0).expect("in order");
        });
    });
    own.fill(&mut x, 6.0).expect("after the null stream");
    assert_eq!(x.to_vec().expect("a copy")[N - 1], 6.0);
}

fn handles_of_one_stream(device: &Device) {
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let (one, same) = (Stream::null(device).expect("one"), Stream::null(device).expect("the same"));
    one.fill(&mut x, 1.0).expect("a fill");
    same.fill(&mut x, 2.0).expect("in order");
    drop(one);
    same.fill(&mut x, 3.0).expect("in order");
    let (clone, mut y) = (same.clone(), PinnedBuf::<f32>::zeroed(device, N).expect("memory"));
    clone.download(&x, &mut y).expect("in order");
    assert_eq!(y[N / 2], 3.0);
}

#[test]
fn a_launch_on_the_null_stream_takes_longer_when_others_are_blocked() {
    // Two kernels on non-blocking streams overlap; those on blocking streams with one on the null stream
    // between them do not.
    let time = |blocking: bool| {
        let device = simulated();
        let stream =
            || if blocking { Stream::blocking(&device) } else { Stream::new(&device) }.expect("a stream");
        let (one, other, null) = (stream(), stream(), Stream::null(&device).expect("a stream"));
        let [mut x, mut y, mut z] =
            [(); 3].map(|()| DeviceBuf::<f32>::zeroed(&device, 1 << 20).expect("memory"));
        let (start, stop) = (
            thalweg::streams::Event::with_timing(&device).expect("one"),
            thalweg::streams::Event::with_timing(&device).expect("one"),
        );
        device.synchronize().expect("the device");
        one.record(&start).expect("a record");
        let h = PinnedBuf::<f32>::zeroed(&device, 1 << 20).expect("memory");
        one.upload(&h, &mut x).expect("a copy");
        null.fill(&mut y, 1.0).expect("a fill");
        let mut back = PinnedBuf::<f32>::zeroed(&device, 1 << 20).expect("memory");
        other.fill(&mut z, 1.0).expect("a fill");
        other.download(&z, &mut back).expect("a copy");
        let all = Stream::new(&device).expect("a stream");
        for stream in [&one, &other, &null] {
            all.wait_stream(stream).expect("a wait");
        }
        all.record(&stop).expect("a record");
        stop.synchronize().expect("the device");
        start.elapsed(&stop).expect("both are complete")
    };
    let (overlapping, serial) = (time(false), time(true));
    assert!(serial > overlapping.mul_f64(1.5), "{serial:?}, {overlapping:?}");
}
