//! The calls of host functions, and the fate of functions that are not called.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::ok;
use crate::backends::cuda::Cuda;
use crate::backends::cuda::tests::TAG;
use crate::driver::{Command, Driver, DriverResult, HostJob, RawStream};

fn recorded(test: &str, flags: &[&str], variables: &[(&str, &str)], body: fn()) -> Option<String> {
    super::recorded(&format!("host::{test}"), flags, variables, body)
}

/// The names that jobs note, in order.
static NOTED: Mutex<Vec<&str>> = Mutex::new(Vec::new());

fn note(what: &'static str) -> HostJob {
    Box::new(move || NOTED.lock().expect("no test panics").push(what))
}

fn noted() -> Vec<&'static str> {
    std::mem::take(&mut NOTED.lock().expect("no test panics"))
}

/// A job, and a channel that tells when the job is dropped: its end of the channel is gone then, whether it
/// has run or not.
fn watched(what: &'static str) -> (HostJob, mpsc::Receiver<()>) {
    let (alive, watch) = mpsc::channel::<()>();
    let note = note(what);
    let job = move || {
        let _alive = alive;
        note();
    };
    (Box::new(job), watch)
}

fn is_dropped(watch: &mpsc::Receiver<()>) -> bool {
    watch.try_recv() == Err(mpsc::TryRecvError::Disconnected)
}

/// Ends the process if it takes too long, so that a stream that waits for ever is a failure.
fn in_time() {
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(30));
        eprintln!("a stream waits for ever");
        std::process::abort();
    });
}

/// Enqueues a job.
fn host(device: &dyn Driver, stream: RawStream, job: HostJob) -> DriverResult<()> {
    // SAFETY: the tests destroy no stream before its last use, and their jobs access no memory of the device.
    unsafe { device.enqueue(Command::Host { job, accesses: &[] }, stream, TAG) }
}

fn signal(device: &dyn Driver, stream: RawStream, signal: HostJob) -> DriverResult<()> {
    // SAFETY: as above.
    unsafe { device.enqueue(Command::Signal(signal), stream, TAG) }
}

fn synchronize(device: &dyn Driver, stream: RawStream) -> DriverResult<()> {
    // SAFETY: as above.
    unsafe { device.synchronize_stream(stream) }
}

fn destroy(device: &dyn Driver, stream: RawStream) {
    // SAFETY: as above.
    ok(unsafe { device.destroy_stream(stream) });
}

#[test]
fn host_functions_make_exactly_these_calls() {
    let calls = recorded("host_functions_make_exactly_these_calls", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let (a, b) = (ok(device.create_stream(0)), ok(device.create_stream(0)));
        let here = std::thread::current().id();
        let elsewhere = move || {
            assert_eq!(std::thread::current().name(), Some("thalweg-host"));
            assert_ne!(std::thread::current().id(), here);
            note("one")();
        };
        ok(host(&*device, a, Box::new(elsewhere)));
        ok(host(&*device, a, note("two")));
        ok(signal(&*device, a, note("three")));
        ok(synchronize(&*device, a));
        assert_eq!(noted(), ["one", "two", "three"]);
        ok(host(&*device, b, note("b")));
        ok(synchronize(&*device, b));
        // The word of a stream that is gone serves the next stream, and counts on.
        destroy(&*device, a);
        let c = ok(device.create_stream(0));
        ok(host(&*device, c, note("c")));
        ok(synchronize(&*device, c));
        let null = ok(device.null_stream());
        ok(host(&*device, null, note("null")));
        ok(synchronize(&*device, null));
        assert_eq!(noted(), ["b", "c", "null"]);
        destroy(&*device, b);
        destroy(&*device, c);
    });
    let Some(calls) = calls else { return };
    let expected = "\
cuStreamCreateWithPriority s1 flags=1 priority=0
cuStreamCreateWithPriority s2 flags=1 priority=0
cuMemHostAlloc h1 4096 flags=2
cuLaunchHostFunc s1
cuStreamWaitValue32 s1 h1 1
cuLaunchHostFunc s1
cuStreamWaitValue32 s1 h1 2
cuLaunchHostFunc s1
cuStreamSynchronize s1
cuLaunchHostFunc s2
cuStreamWaitValue32 s2 h1+4 1
cuStreamSynchronize s2
cuStreamDestroy s1
cuStreamCreateWithPriority s3 flags=1 priority=0
cuLaunchHostFunc s3
cuStreamWaitValue32 s3 h1 3
cuStreamSynchronize s3
cuLaunchHostFunc null
cuStreamWaitValue32 null h1+8 1
cuStreamSynchronize null
cuStreamDestroy s2
cuStreamDestroy s3
cuMemFreeHost h1
cuDevicePrimaryCtxRelease 0
";
    assert!(calls.ends_with(expected), "{calls}");
}

#[test]
fn a_job_may_wait_for_one_on_another_stream() {
    recorded("a_job_may_wait_for_one_on_another_stream", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let (a, b) = (ok(device.create_stream(0)), ok(device.create_stream(0)));
        let (send, receive) = mpsc::channel();
        let waits = move || receive.recv().expect("the other job runs");
        ok(host(&*device, a, Box::new(waits)));
        ok(host(&*device, b, Box::new(move || send.send(()).expect("the first job waits"))));
        ok(synchronize(&*device, a));
        ok(synchronize(&*device, b));
    });
}

#[test]
fn a_job_that_unwinds_has_returned() {
    recorded("a_job_that_unwinds_has_returned", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        ok(host(&*device, stream, Box::new(|| panic!("in a job"))));
        ok(signal(&*device, stream, Box::new(|| panic!("in a signal"))));
        ok(host(&*device, stream, note("after")));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["after"]);
    });
}

#[test]
fn a_device_that_cannot_wait_for_memory_waits_for_the_thread() {
    let test = "a_device_that_cannot_wait_for_memory_waits_for_the_thread";
    let body = || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        for what in ["one", "two"] {
            let note = note(what);
            let slow = move || {
                std::thread::sleep(Duration::from_millis(20));
                note();
            };
            ok(host(&*device, stream, Box::new(slow)));
            ok(synchronize(&*device, stream));
            assert_eq!(noted(), [what]);
        }
        destroy(&*device, stream);
    };
    let expected = "\
cuLaunchHostFunc s1
cuStreamWaitValue32 s1 h1 1 -> 801
cuLaunchHostFunc s1
cuStreamSynchronize s1
cuLaunchHostFunc s1
cuLaunchHostFunc s1
cuStreamSynchronize s1
cuStreamDestroy s1
";
    let Some(calls) = recorded(test, &[], &[("THALWEG_NO_MEMORY_WAIT", "1")], body) else { return };
    assert!(calls.contains(expected), "{calls}");
}

#[test]
fn a_driver_without_waits_for_memory_will_do() {
    let flags = ["-DcuStreamWaitValue32_v2=cuStreamWaitValue32Gone"];
    let calls = recorded("a_driver_without_waits_for_memory_will_do", &flags, &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        ok(host(&*device, stream, note("one")));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["one"]);
    });
    let Some(calls) = calls else { return };
    assert!(calls.contains("cuLaunchHostFunc s1\ncuLaunchHostFunc s1\ncuStreamSynchronize s1\n"), "{calls}");
    assert!(!calls.contains("cuMemHostAlloc"), "{calls}");
}

/// After an error the driver calls nothing any more.
#[test]
fn a_lost_context_drops_what_it_never_called() {
    let variables = [("THALWEG_DEAF", "2"), ("THALWEG_FAIL", "cuStreamSynchronize:700:2+")];
    recorded("a_lost_context_drops_what_it_never_called", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let (stream, other) = (ok(device.create_stream(0)), ok(device.create_stream(0)));
        ok(host(&*device, stream, note("before")));
        ok(synchronize(&*device, stream));
        let (job, job_watch) = watched("never");
        let (sent, signal_watch) = watched("never");
        ok(host(&*device, stream, job));
        ok(signal(&*device, other, sent));
        assert!(!is_dropped(&job_watch) && !is_dropped(&signal_watch));
        for _ in 0..2 {
            assert_eq!(synchronize(&*device, stream).expect_err("as asked for").code, 700);
            assert!(is_dropped(&job_watch) && is_dropped(&signal_watch));
        }
        drop(device);
        assert_eq!(noted(), ["before"]);
    });
}

#[test]
fn a_device_drops_what_was_never_called() {
    let variables = [("THALWEG_DEAF", "1")];
    recorded("a_device_drops_what_was_never_called", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let (job, job_watch) = watched("never");
        let (sent, signal_watch) = watched("never");
        ok(signal(&*device, stream, sent));
        ok(host(&*device, stream, job));
        drop(device);
        assert!(is_dropped(&job_watch) && is_dropped(&signal_watch));
        assert!(noted().is_empty());
    });
}

#[test]
fn what_is_refused_is_dropped() {
    let variables = [("THALWEG_FAIL", "cuLaunchHostFunc:2:1,cuLaunchHostFunc:2:2,cuMemHostAlloc:2:2")];
    recorded("what_is_refused_is_dropped", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let (job, watch) = watched("never");
        assert_eq!(host(&*device, stream, job).expect_err("as asked for").call, "cuLaunchHostFunc");
        assert!(is_dropped(&watch));
        let (sent, watch) = watched("never");
        assert_eq!(signal(&*device, stream, sent).expect_err("as asked for").code, 2);
        assert!(is_dropped(&watch));
        ok(host(&*device, stream, note("one")));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["one"]);
    });
}

/// The stream does not wait for the job, and the job may have begun. So a host that waits for the stream
/// waits for the job, too.
#[test]
fn a_job_that_its_stream_cannot_wait_for_is_waited_for() {
    let test = "a_job_that_its_stream_cannot_wait_for_is_waited_for";
    recorded(test, &[], &[("THALWEG_FAIL", "cuStreamWaitValue32:2")], || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let note_end = note("end");
        let slow = move || {
            std::thread::sleep(Duration::from_millis(50));
            note_end();
        };
        let error = host(&*device, stream, Box::new(slow)).expect_err("as asked for");
        assert_eq!((error.call, error.code), ("cuStreamWaitValue32", 2));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["end"]);
        ok(host(&*device, stream, note("next")));
        ok(synchronize(&*device, stream));
        assert_eq!(noted(), ["next"]);
    });
}

#[test]
fn a_job_that_its_stream_cannot_wait_for_is_taken_back_if_it_has_not_begun() {
    let test = "a_job_that_its_stream_cannot_wait_for_is_taken_back_if_it_has_not_begun";
    let variables = [("THALWEG_FAIL", "cuStreamWaitValue32:2"), ("THALWEG_DEAF", "1")];
    recorded(test, &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let (job, watch) = watched("never");
        host(&*device, stream, job).expect_err("as asked for");
        assert!(is_dropped(&watch));
        ok(synchronize(&*device, stream));
        assert!(noted().is_empty());
    });
}

/// The word of a job that is done late does not overwrite that of a later job, for which the stream waits.
#[test]
fn a_job_that_its_stream_cannot_wait_for_may_be_later_than_the_next() {
    let test = "a_job_that_its_stream_cannot_wait_for_may_be_later_than_the_next";
    recorded(test, &[], &[("THALWEG_FAIL", "cuStreamWaitValue32:2")], || {
        in_time();
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let ((go, gate), note_end) = (mpsc::channel::<()>(), note("late"));
        let late = move || {
            gate.recv().expect("the test goes on");
            note_end();
        };
        host(&*device, stream, Box::new(late)).expect_err("as asked for");
        ok(host(&*device, stream, note("next")));
        let until_noted = || {
            while NOTED.lock().expect("no test panics").is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // The job's word is written a moment later.
            std::thread::sleep(Duration::from_millis(50));
            noted()
        };
        assert_eq!(until_noted(), ["next"]);
        go.send(()).expect("the job waits");
        assert_eq!(until_noted(), ["late"]);
        ok(synchronize(&*device, stream));
        // The word goes to another stream with its value.
        destroy(&*device, stream);
        let other = ok(device.create_stream(0));
        ok(host(&*device, other, note("other")));
        ok(synchronize(&*device, other));
        assert_eq!(noted(), ["other"]);
    });
}

#[test]
fn thalweg_sync_waits_for_host_functions() {
    let variables = [("THALWEG_SYNC", "1"), ("THALWEG_FAIL", "cuStreamSynchronize:719:3")];
    let calls = recorded("thalweg_sync_waits_for_host_functions", &[], &variables, || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let note = note("one");
        let slow = move || {
            std::thread::sleep(Duration::from_millis(20));
            note();
        };
        ok(host(&*device, stream, Box::new(slow)));
        assert_eq!(noted(), ["one"]);
        ok(signal(&*device, stream, Box::new(|| {})));
        let error = signal(&*device, stream, Box::new(|| {})).expect_err("as asked for");
        assert_eq!((error.call, error.code, error.tag), ("cuLaunchHostFunc", 719, Some((4, 2))));
    });
    let Some(calls) = calls else { return };
    let expected = "\
cuLaunchHostFunc s1
cuStreamWaitValue32 s1 h1 1
cuStreamSynchronize s1
cuLaunchHostFunc s1
cuStreamSynchronize s1
";
    assert!(calls.contains(expected), "{calls}");
}

/// A job may not wait on the simulated device either.
#[test]
fn a_job_may_not_wait_for_the_device() {
    recorded("a_job_may_not_wait_for_the_device", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let (send, receive) = mpsc::channel();
        let inner = Arc::clone(&device);
        let asks = move || send.send(inner.may_wait()).expect("the test waits");
        ok(host(&*device, stream, Box::new(asks)));
        ok(synchronize(&*device, stream));
        let refused = receive.recv().expect("the job has run").expect_err("it may not");
        assert_eq!((refused.code, &*refused.name), (800, "CUDA_ERROR_NOT_PERMITTED"));
        ok(device.may_wait());
    });
}

/// A job may not call the driver at all: the stub ends the process. Another thread releases what the job
/// drops.
#[test]
fn what_a_job_drops_goes_elsewhere() {
    let calls = recorded("what_a_job_drops_goes_elsewhere", &[], &[], || {
        let device = crate::Device::cuda(0).expect("the stub's device");
        let stream = crate::streams::Stream::new(&device).expect("a stream");
        let other = crate::streams::Stream::new(&device).expect("a stream");
        let event = crate::streams::Event::new(&device).expect("an event");
        let mut x = crate::DeviceBuf::<f32>::zeroed(&device, 10).expect("memory");
        let y = crate::PinnedBuf::<f32>::zeroed(&device, 10).expect("memory");
        other.fill(&mut x, 1.0).expect("a fill");
        other.record(&event).expect("a record");
        stream
            .host(move || {
                assert!(event.query().is_err() && other.query().is_err(), "nobody is let in");
                drop((event, other, x, y));
            })
            .expect("a function");
        stream.synchronize().expect("the device");
        // The thread does one thing after another.
        stream.then(|_| ()).expect("a callback");
        stream.synchronize().expect("the device");
    });
    let Some(calls) = calls else { return };
    for gone in ["cuEventDestroy e", "cuStreamDestroy s2", "cuMemFree d", "cuMemFreeHost h"] {
        assert!(calls.contains(gone), "{gone}: {calls}");
    }
}

/// Whether the driver soon has as many references to its context back as it gave.
fn is_released() -> bool {
    let record = std::env::var_os("THALWEG_RECORD").expect("the stubs record");
    let is_even = || {
        let calls = std::fs::read_to_string(&record).expect("the record");
        let count = |call: &str| calls.lines().filter(|line| line.starts_with(call)).count();
        count("cuDevicePrimaryCtxRetain") == count("cuDevicePrimaryCtxRelease")
    };
    (0..10_000).any(|_| {
        is_even() || {
            std::thread::sleep(Duration::from_millis(1));
            false
        }
    })
}

/// A job may drop the last handle of a device. Another thread then releases the context, after an error too.
#[test]
fn the_last_handle_of_a_lost_device_in_a_job() {
    let variables = [("THALWEG_FAIL", "cuStreamSynchronize:700:1+")];
    recorded("the_last_handle_of_a_lost_device_in_a_job", &[], &variables, || {
        in_time();
        let device = crate::Device::cuda(0).expect("the stub's device");
        let stream = crate::streams::Stream::new(&device).expect("a stream");
        let (its, (go, gate)) = (device.clone(), mpsc::channel::<()>());
        let job = move || {
            gate.recv().expect("the test goes on");
            drop(its);
        };
        stream.host(job).expect("a function");
        stream.synchronize().expect_err("as asked for");
        drop((stream, device));
        go.send(()).expect("the job waits");
        assert!(is_released());
    });
}

/// Two handles are dropped at the same time, one of them in a job. Either may be the last.
#[test]
fn two_last_handles_at_the_same_time() {
    recorded("two_last_handles_at_the_same_time", &[], &[], || {
        in_time();
        for round in 0..1000 {
            let device = crate::Device::cuda(0).expect("the stub's device");
            let (its, now) = (device.clone(), Arc::new(AtomicUsize::new(0)));
            let raw = ok(device.driver().create_stream(0));
            let meet = |now: &AtomicUsize, moments: u32| {
                now.fetch_add(1, Ordering::AcqRel);
                // On a busy machine the other thread may not run before this one rests.
                let mut turns = 0_u32;
                while now.load(Ordering::Acquire) < 2 {
                    turns += 1;
                    if turns > 10_000 { std::thread::yield_now() } else { std::hint::spin_loop() }
                }
                (0..moments).for_each(|_| std::hint::spin_loop());
            };
            let there = Arc::clone(&now);
            let job = Box::new(move || {
                meet(&there, 0);
                drop(its);
            });
            ok(host(device.driver(), raw, job));
            // Each round drops a little later, since the other thread takes a moment too.
            meet(&now, round % 40);
            drop(device);
        }
        assert!(is_released());
    });
}

/// Words and threads pass from one stream to the next while others use theirs.
#[test]
fn jobs_of_many_threads_come_in_the_order_of_their_streams() {
    recorded("jobs_of_many_threads_come_in_the_order_of_their_streams", &[], &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for jobs in 0..40 {
                        let stream = ok(device.create_stream(0));
                        let order = Arc::new(Mutex::new(Vec::new()));
                        for job in 0..jobs {
                            let order = Arc::clone(&order);
                            let work: HostJob = Box::new(move || order.lock().expect("no panic").push(job));
                            ok(if job % 4 == 3 {
                                signal(&*device, stream, work)
                            } else {
                                host(&*device, stream, work)
                            });
                        }
                        ok(synchronize(&*device, stream));
                        assert_eq!(*order.lock().expect("no panic"), (0..jobs).collect::<Vec<_>>());
                        assert_eq!(Arc::strong_count(&order), 1, "a job is left");
                        destroy(&*device, stream);
                    }
                });
            }
        });
    });
}
