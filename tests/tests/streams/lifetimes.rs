//! Buffers, streams and graphs that are dropped, or forgotten, while the device uses them.

use std::any::Any;
use std::sync::Mutex;

use thalweg::kernel::blocks;
use thalweg::streams::{Event, Stream};
use thalweg::{Device, DeviceBuf, PinnedBuf};
use thalweg_tests::kernels::add_to;

use super::{is_alone, kept, on_each};

on_each!(
    buffers_are_freed_after_their_operations,
    streams_go_before_their_buffers,
    what_is_forgotten_is_kept,
    results_wait_for_streams_that_are_gone,
    events_go_before_they_are_reached,
    many_buffers_come_and_go,
);

const N: usize = 1 << 18;

/// Never drops the value, like `std::mem::forget`; but a leak checker finds it.
fn forget<T: Send + 'static>(value: T) {
    static KEPT: Mutex<Vec<Box<dyn Any + Send>>> = Mutex::new(Vec::new());
    KEPT.lock().expect("no panic").push(Box::new(value));
}

fn buffers_are_freed_after_their_operations(device: &Device) {
    let stream = Stream::new(device).expect("a stream");
    let add = add_to::load(device).expect("a kernel");
    for _ in 0..10 {
        let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
        let y = PinnedBuf::from_slice(device, &[1.0; N]).expect("memory");
        stream.upload(&y, &mut x).expect("a copy");
        drop(y);
        add.launch(stream.config(blocks(N, 256), 256, 0), N as u32, 1.0, &mut x).expect("a launch");
        drop(x);
    }
    stream.synchronize().expect("the device");
}

fn streams_go_before_their_buffers(device: &Device) {
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    for turn in 0..10 {
        let stream = Stream::new(device).expect("a stream");
        stream.fill(&mut x, turn as f32).expect("a fill");
    }
    assert_eq!(x.to_vec().expect("a copy")[N - 1], 9.0);
}

fn what_is_forgotten_is_kept(device: &Device) {
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let mut y = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
    let stream = Stream::new(device).expect("a stream");
    let event = Event::new(device).expect("an event");
    stream.fill(&mut x, 4.0).expect("a fill");
    stream.download(&x, &mut y).expect("a copy");
    stream.record(&event).expect("a record");
    forget(stream);
    forget(event);
    assert_eq!(y[N - 1], 4.0);
    let other = Stream::new(device).expect("a stream");
    other.fill(&mut x, 5.0).expect("a fill");
    other.download(&x, &mut y).expect("a copy");
    forget(other);
    forget(x);
    assert_eq!(y[0], 5.0);
}

fn results_wait_for_streams_that_are_gone(device: &Device) {
    let mut y = PinnedBuf::<f32>::zeroed(device, N).expect("memory");
    {
        let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
        let stream = Stream::new(device).expect("a stream");
        stream.fill(&mut x, 2.0).expect("a fill");
        stream.download(&x, &mut y).expect("a copy");
    }
    assert_eq!(y[N / 2], 2.0);
}

fn events_go_before_they_are_reached(device: &Device) {
    let (one, other) = (Stream::new(device).expect("a stream"), Stream::new(device).expect("a stream"));
    let mut x = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    for turn in 0..20 {
        let event = Event::new(device).expect("an event");
        let (from, to) = if turn % 2 == 0 { (&one, &other) } else { (&other, &one) };
        from.fill(&mut x, turn as f32).expect("a fill");
        from.record(&event).expect("a record");
        to.wait(&event).expect("a wait");
    }
    assert_eq!(x.to_vec().expect("a copy")[0], 19.0);
}

fn many_buffers_come_and_go(device: &Device) {
    let before = device.free_memory().expect("a number");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let streams: Vec<_> = (0..3).map(|_| Stream::new(device).expect("a stream")).collect();
                for turn in 0..60 {
                    let stream = &streams[turn % 3];
                    let mut x = DeviceBuf::<u32>::zeroed(device, 1000 + turn).expect("memory");
                    let mut y = PinnedBuf::<u32>::zeroed(device, 1000 + turn).expect("memory");
                    stream.fill(&mut x, turn as u32).expect("a fill");
                    stream.download(&x, &mut y).expect("a copy");
                    if turn % 4 == 0 {
                        drop(x);
                    }
                    if turn % 3 == 0 {
                        assert_eq!(y[999], turn as u32);
                    }
                }
            });
        }
    });
    if is_alone(device) {
        assert_eq!(device.free_memory().expect("a number"), before);
    }
}

/// When something fails on the device, the operations on a buffer are over, or the buffer is poisoned.
#[test]
fn failures_leave_nothing_in_flight() {
    use thalweg::sim::{DriverCall, Effect, Fault, Simulation};
    for effect in [Effect::Fails, Effect::Refused, Effect::Lost] {
        for (call, n) in [
            (DriverCall::Fill, 1),
            (DriverCall::Copy, 0),
            (DriverCall::Synchronize, 1),
            (DriverCall::Record, 0),
        ] {
            let device = kept(Simulation::h200().with_fault(Fault::nth(call, n, effect)));
            let attempt = || -> thalweg::Result<()> {
                let mut x = DeviceBuf::<f32>::zeroed(&device, N)?;
                let mut y = PinnedBuf::<f32>::zeroed(&device, N)?;
                let (stream, event) = (Stream::new(&device)?, Event::new(&device)?);
                stream.fill(&mut x, 1.0)?;
                stream.download(&x, &mut y)?;
                stream.record(&event)?;
                let sum: f32 = y.iter().sum();
                assert!(y.is_empty() || effect != Effect::Lost || sum == N as f32, "{call:?}");
                stream.synchronize()?;
                event.synchronize()
            };
            assert!(attempt().is_err(), "{effect:?} of {call:?}");
            if effect != Effect::Lost {
                let mut x = DeviceBuf::<f32>::zeroed(&device, N).expect("the device works");
                Stream::new(&device).expect("a stream").fill(&mut x, 3.0).expect("a fill");
                assert_eq!(x.to_vec().expect("a copy")[0], 3.0);
            }
        }
    }
}
