//! Reads of memory that a failed operation was to write return its error until the memory is written anew.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::sim::{DriverCall, Effect, Fault};
use thalweg::streams::{Event, Stream};
use thalweg_tests::kernels::{axpy_each, double_all, through_shared};
use thalweg_tests::waiting::in_time;

use super::kept;

const N: usize = 1000;

stream_pipeline! {
    /// Reads device memory, changes other device memory, and writes a third.
    pipeline OnDevice {
        input x: device [f32];
        inout y: device [f32];
        output z: device [f32];
        chunk c = 256;
        stage all {
            double_all<<<blocks(c.len, 128), 128>>>(c.len as u32, &mut y);
            copy x -> z;
        }
    }
}

stream_pipeline! {
    /// Reads page-locked memory, and memory on the device.
    pipeline ThroughHost {
        input x: [f32];
        output y: [f32];
        resident w: device [f32];
        chunk c = 256;
        stage up { copy x -> dx; }
        stage math { axpy_each<<<blocks(c.len, 128), 128>>>(c.len as u32, 0.0, &w, &mut dx); }
        stage down { copy dx -> y; }
    }
}

struct Two {
    device: Device,
    stream: Stream,
    x: DeviceBuf<f32>,
    d: DeviceBuf<f32>,
    host: PinnedBuf<f32>,
}

impl Two {
    /// `x` is all ones, the others are zero.
    fn new() -> Self {
        let device = kept(Simulation::h200());
        let x = DeviceBuf::from_slice(&device, &[1.0; N]).expect("memory");
        Self {
            stream: Stream::new(&device).expect("a stream"),
            d: DeviceBuf::zeroed(&device, N).expect("memory"),
            host: PinnedBuf::zeroed(&device, N).expect("memory"),
            x,
            device,
        }
    }

    fn next(&self, call: DriverCall, effect: Effect) {
        self.device.inject(Fault::nth(call, 0, effect)).expect("it is simulated");
    }

    /// A copy of `x` to `d` has failed, and the stream has reported it.
    fn failed() -> Self {
        let mut two = Self::new();
        two.next(DriverCall::Copy, Effect::Fails);
        two.stream.copy(&two.x, &mut two.d).expect("it fails on the device");
        is_injected(two.stream.synchronize());
        two
    }

    /// A download to `host` has failed, and the stream has reported it.
    fn failed_download() -> Self {
        let mut two = Self::new();
        two.next(DriverCall::Copy, Effect::Fails);
        two.stream.download(&two.x, &mut two.host).expect("it fails on the device");
        is_injected(two.stream.synchronize());
        two
    }
}

#[track_caller]
fn is_injected<T>(result: thalweg::Result<T>) {
    let Err(error) = result else { panic!("an operation has failed") };
    assert!(error.to_string().contains("a fault was injected"), "{error}");
}

/// A run that reads what a failed operation was to write is refused with that operation's error.
#[test]
fn a_run_does_not_read_what_has_failed() {
    let Two { device, d, .. } = Two::failed();
    let mut good = [(); 2].map(|()| DeviceBuf::from_slice(&device, &[1.0_f32; N]).expect("memory"));
    let mut pipeline = OnDevice::new(&device).expect("a pipeline");
    let [y, z] = &mut good;
    let error = pipeline.run(&d, &mut *y, &mut *z).expect_err("it is not what was copied");
    assert!(error.to_string().contains("a fault was injected"), "{error}");
    assert_eq!((error.place().operation, error.place().pipeline), (Some("copy"), Some("OnDevice")));
    let mut d = d;
    is_injected(pipeline.run(&*y, &mut d, &mut *z));
    assert_eq!(y.to_vec().expect("a copy"), [1.0; N], "nothing has run");

    // Memory that a run writes without reading it is valid afterwards.
    pipeline.run(&*y, &mut *z, &mut d).expect("it is written anew");
    assert_eq!(d.to_vec().expect("a copy"), [1.0; N]);
}

/// The run waits itself if nobody has waited for the failed operation yet.
#[test]
fn a_run_waits_for_what_fails() {
    let mut two = Two::new();
    let mut good = [(); 2].map(|()| DeviceBuf::from_slice(&two.device, &[1.0_f32; N]).expect("memory"));
    let mut pipeline = OnDevice::new(&two.device).expect("a pipeline");
    two.next(DriverCall::Copy, Effect::Fails);
    two.stream.copy(&two.x, &mut two.d).expect("it fails on the device");
    let [y, z] = &mut good;
    is_injected(pipeline.run(&two.d, y, z));
}

#[test]
fn a_run_does_not_read_page_locked_memory_of_a_failed_copy() {
    let Two { device, x, d, mut host, stream } = Two::failed_download();
    let mut pipeline = ThroughHost::new(&device).expect("a pipeline");
    let mut y = [0.0; N];
    is_injected(pipeline.run(&host, &mut y, &x));
    is_injected(pipeline.run(host.slice(1..).expect("a part"), &mut y[1..], &x));
    is_injected(host.wait());
    // A run may overwrite it, and then it is valid.
    pipeline.run(&[3.0; N], &mut host, &d).expect("it is not read");
    assert_eq!(host.wait().expect("it is written anew"), [3.0; N]);
    pipeline.run(&host, &mut y, &d).expect("it is well");
    drop(stream);
}

#[test]
fn what_is_resident_must_not_have_failed() {
    let Two { device, d, .. } = Two::failed();
    let mut pipeline = ThroughHost::new(&device).expect("a pipeline");
    is_injected(pipeline.run(&[3.0; N], &mut [0.0; N], &d));
}

stream_pipeline! {
    /// Leaves out every second chunk of its result.
    pipeline EverySecond {
        input x: [f32];
        output y: [f32];
        chunk c = 100;
        stage up { copy x -> dx; }
        stage down { if c.index % 2 == 0 { copy dx -> y; } }
    }
}

/// A run that succeeds clears the failures of memory that each of its chunks writes.
#[test]
fn a_run_clears_no_more_than_it_writes() {
    let Two { device, mut host, .. } = Two::failed_download();
    EverySecond::new(&device).expect("a pipeline").run(&[3.0; N], &mut host).expect("it is not read");
    is_injected(host.wait());

    let Two { device, x, mut host, .. } = Two::failed_download();
    let mut pipeline = ThroughHost::new(&device).expect("a pipeline");
    device.inject(Fault::nth(DriverCall::Copy, 3, Effect::Fails)).expect("it is simulated");
    is_injected(pipeline.run(&[3.0; N], &mut host, &x));
    is_injected(host.wait());
    pipeline.run(&[3.0; N], host.slice_mut(10..).expect("a part"), &x).expect_err("they are not as many");
    pipeline.run(&[3.0; N - 10], host.slice_mut(10..).expect("a part"), &x).expect("it is not read");
    is_injected(host.wait());
    is_injected(pipeline.run(host.slice(9..).expect("a part"), &mut [0.0; N - 9], &x));
    pipeline.run(host.slice(10..).expect("a part"), &mut [0.0; N - 10], &x).expect("that part is well");
}

/// A user can declare that the CPU has put other data there.
#[test]
fn page_locked_memory_that_the_cpu_has_written_is_well() {
    let Two { device, x, mut host, .. } = Two::failed_download();
    host.fill(5.0);
    is_injected(host.wait());
    host.forget_failures();
    assert_eq!(host.wait().expect("it is well"), [5.0; N]);
    let mut y = [0.0; N];
    ThroughHost::new(&device).expect("a pipeline").run(&host, &mut y, &x).expect("it is well");
    assert_eq!(y, [5.0; N]);
}

#[test]
fn a_vec_that_is_not_what_was_copied_is_not_given_back() {
    let two = Two::new();
    let mut host = PinnedBuf::register(&two.device, vec![0.0_f32; 1 << 16]).expect("pages");
    let x = DeviceBuf::from_slice(&two.device, &vec![1.0_f32; 1 << 16]).expect("memory");
    two.next(DriverCall::Copy, Effect::Fails);
    two.stream.download(&x, &mut host).expect("it fails on the device");
    is_injected(two.stream.synchronize());
    is_injected(host.into_vec());
}

/// Two failures in turn: each belongs to its own memory.
#[test]
fn failures_in_turn_are_all_known() {
    let mut two = Two::failed_download();
    let mut other = PinnedBuf::zeroed(&two.device, N).expect("memory");
    two.next(DriverCall::Copy, Effect::Fails);
    two.stream.download(&two.x, &mut other).expect("it fails on the device");
    is_injected(two.stream.synchronize());
    two.stream.fill(&mut two.d, 7.0).expect("the stream works again");
    is_injected(two.host.wait());
    is_injected(other.wait());
    assert_eq!(two.d.to_vec().expect("that is well"), [7.0; N]);
}

/// Reading it again does not clear the failure.
#[test]
fn a_later_read_does_not_clear_a_failure() {
    let two = Two::failed();
    let mut z = DeviceBuf::zeroed(&two.device, N).expect("memory");
    two.stream.copy(&two.d, &mut z).expect("a copy");
    two.stream.synchronize().expect("a copy");
    is_injected(two.d.to_vec());

    let mut two = Two::failed_download();
    two.stream.upload(&two.host, &mut two.d).expect("a copy");
    is_injected(two.host.wait());
}

/// A failure belongs to its bytes.
#[test]
fn writing_a_part_anew_leaves_the_rest_failed() {
    let mut two = Two::failed();
    two.stream.fill(two.d.slice_mut(..1).expect("a part"), 7.0).expect("a fill");
    two.stream.synchronize().expect("a fill");
    is_injected(two.d.to_vec());
    two.stream.fill(two.d.slice_mut(2..).expect("a part"), 7.0).expect("a fill");
    is_injected(two.d.to_vec());
    two.stream.fill(two.d.slice_mut(1..3).expect("a part"), 7.0).expect("a fill");
    assert_eq!(two.d.to_vec().expect("all of it is new"), [7.0; N]);

    // A failed write of a part leaves the rest valid.
    let Two { device, stream, x, mut d, mut host } = Two::new();
    device.inject(Fault::nth(DriverCall::Copy, 0, Effect::Fails)).expect("it is simulated");
    stream.copy(x.slice(..10).expect("a part"), d.slice_mut(..10).expect("a part")).expect("it fails later");
    is_injected(stream.synchronize());
    let mut pipeline = ThroughHost::new(&device).expect("a pipeline");
    device.inject(Fault::nth(DriverCall::Copy, 0, Effect::Fails)).expect("it is simulated");
    stream.download(x.slice(..10).expect("a part"), host.slice_mut(..10).expect("a part")).expect("later");
    is_injected(stream.synchronize());
    is_injected(pipeline.run(host.slice(9..20).expect("a part"), &mut [0.0; 11], &x));
    pipeline.run(host.slice(10..21).expect("a part"), &mut [0.0; 11], &x).expect("that part is well");
}

/// An operation that the driver refuses writes nothing.
#[test]
fn a_refused_write_does_not_clear_a_failure() {
    let mut two = Two::failed();
    two.next(DriverCall::Fill, Effect::Refused);
    two.stream.fill(&mut two.d, 7.0).expect_err("it is refused");
    is_injected(two.d.to_vec());

    // The same holds if the failure is not known yet.
    let mut two = Two::new();
    two.next(DriverCall::Copy, Effect::Fails);
    two.stream.copy(&two.x, &mut two.d).expect("it fails on the device");
    two.next(DriverCall::Fill, Effect::Refused);
    two.stream.fill(&mut two.d, 7.0).expect_err("it is refused");
    is_injected(two.d.to_vec());

    // A refused operation does not count as failed later.
    let mut two = Two::new();
    two.next(DriverCall::Fill, Effect::Refused);
    two.stream.fill(&mut two.d, 7.0).expect_err("it is refused");
    two.next(DriverCall::Copy, Effect::Fails);
    two.stream.download(&two.x, &mut two.host).expect("it fails on the device");
    is_injected(two.stream.synchronize());
    assert_eq!(two.d.to_vec().expect("nothing was to write it"), [0.0; N]);
}

/// A copy from the CPU that cannot be made returns an error, and changes nothing.
#[test]
fn a_copy_of_a_wrong_length_does_not_clear_a_failure() {
    let mut two = Two::failed();
    let error = two.d.copy_from_slice(&[7.0; N - 1]).expect_err("it is too short");
    assert!(matches!(error.detail(), Detail::DeviceBufLength { .. }), "{error}");
    is_injected(two.d.to_vec());
    two.next(DriverCall::Copy, Effect::Refused);
    two.d.copy_from_slice(&[7.0; N]).expect_err("it is refused");
    is_injected(two.d.to_vec());
    two.d.copy_from_slice(&[7.0; N]).expect("a copy");
    assert_eq!(two.d.to_vec().expect("it is well"), [7.0; N]);
}

/// A stream that has waited for one that failed reports only its own state, which does not make the other's
/// memory valid.
#[test]
fn what_a_stream_came_after_has_its_own_failure() {
    for asked in 0..3 {
        let Two { device, stream, x, mut d, mut host } = Two::new();
        let (other, event) = (Stream::new(&device).expect("a stream"), Event::new(&device).expect("one"));
        device.inject(Fault::nth(DriverCall::Copy, 0, Effect::Fails)).expect("it is simulated");
        stream.copy(&x, &mut d).expect("it fails on the device");
        stream.record(&event).expect("a record");
        other.wait(&event).expect("a wait");
        other.download(&x, &mut host).expect("it is not reached");
        match asked {
            0 => is_injected(other.synchronize()),
            1 => is_injected(host.wait()),
            _ => drop(other),
        }
        is_injected(d.to_vec());
        is_injected(host.wait());
        // The error is the first stream's, too.
        is_injected(stream.synchronize());
    }
}

/// A query reports the failure, and the memory still has failed.
#[test]
fn a_failure_that_a_query_has_told_is_not_forgotten() {
    let mut two = Two::new();
    two.next(DriverCall::Copy, Effect::Fails);
    two.stream.copy(&two.x, &mut two.d).expect("it fails on the device");
    let told = (0..10_000).find_map(|_| two.stream.query().err());
    assert!(told.expect("it fails").to_string().contains("a fault was injected"));
    is_injected(two.d.to_vec());
}

/// Another thread that waits for a thread's own stream gets its error.
#[test]
fn a_failure_of_another_threads_stream_is_known() {
    for gone in [false, true] {
        let Two { device, x, mut d, .. } = Two::new();
        let on_another_thread = || {
            device.inject(Fault::nth(DriverCall::Copy, 0, Effect::Fails)).expect("it is simulated");
            let stream = Stream::per_thread(&device).expect("a stream");
            stream.copy(&x, &mut d).expect("it fails on the device");
            stream
        };
        let stream = std::thread::scope(|scope| scope.spawn(on_another_thread).join()).expect("no panic");
        let kept = (!gone).then_some(stream);
        is_injected(d.to_vec());
        drop(kept);
    }
}

/// A kernel that changes memory in place has read it, and need not have changed all of it.
#[test]
fn what_is_changed_in_place_is_not_written_anew() {
    for elements in [0, 1, N] {
        let mut two = Two::failed();
        let double = double_all::load(&two.device).expect("a kernel");
        double.launch(two.stream.config(8, 128, 0), elements as u32, &mut two.d).expect("a launch");
        two.stream.synchronize().expect("it works again");
        is_injected(two.d.to_vec());
        let graph = two.stream.capture(|stream| {
            double.launch(stream.config(8, 128, 0), elements as u32, two.d.slice_mut(..).expect("all of it"))
        });
        graph.expect("a graph").launch(&two.stream).expect("a launch");
        is_injected(two.d.to_vec());

        // Memory that is written without being read is valid.
        let through = through_shared::load(&two.device).expect("a kernel");
        through.launch(two.stream.config(8, 128, 512), N as u32, &two.x, &mut two.d).expect("a launch");
        assert_eq!(two.d.to_vec().expect("it is written anew"), [1.0; N]);
    }
}

/// Two threads wait for a stream that has failed. The device reports that to one of them, and both know it.
#[test]
fn two_threads_know_of_a_failure() {
    in_time(|| {
        for _ in 0..2000 {
            let mut two = Two::new();
            two.next(DriverCall::Copy, Effect::Fails);
            two.stream.copy(&two.x, &mut two.d).expect("it fails on the device");
            let Two { stream, d, .. } = &two;
            std::thread::scope(|scope| {
                scope.spawn(|| stream.synchronize());
                scope.spawn(|| is_injected(d.to_vec()));
            });
            is_injected(two.d.to_vec());
        }
    });
}

/// A stream is dropped while its memory is asked for: on another thread, and within a function, where it is
/// dropped a little later.
#[test]
fn a_failure_of_a_stream_that_goes_is_known() {
    in_time(|| {
        for turn in 0..1000 {
            let mut two = Two::new();
            let other = Stream::new(&two.device).expect("a stream");
            two.next(DriverCall::Copy, Effect::Fails);
            other.copy(&two.x, &mut two.d).expect("it fails on the device");
            let Two { stream, d, .. } = &two;
            if turn % 2 == 0 {
                stream.host(move || drop(other)).expect("a function");
                stream.synchronize().expect("the device");
                is_injected(d.to_vec());
            } else {
                std::thread::scope(|scope| {
                    scope.spawn(move || drop(other));
                    scope.spawn(|| is_injected(d.to_vec()));
                });
            }
            is_injected(d.to_vec());
        }
    });
}
