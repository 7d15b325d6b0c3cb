//! A process that is forked after it has opened a device. Every call of the child is refused, the child waits
//! for nothing, and it releases nothing that the parent has.
#![cfg(target_os = "linux")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::session::{self, Session};
use thalweg::sim::MachineModel;
use thalweg::streams::Stream;
use thalweg_tests::kernels::add_to;
use thalweg_tests::numbers;

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn kill(process: i32, signal: i32) -> i32;
    fn _exit(status: i32) -> !;
}

const WNOHANG: i32 = 1;
const SIGKILL: i32 = 9;

/// Children of a process whose threads are busy.
const FORKS: usize = 40;

stream_pipeline! {
    /// `y <- x + 1`.
    pipeline Next {
        input x: [f32];
        output y: [f32];
        chunk c = 64;
        stage load { copy x -> dx; }
        stage math { add_to<<<1, 64>>>(c.len as u32, 1.0, &mut dx); }
        stage store { copy dx -> y; }
    }
}

/// Set in a test's own process, which has no other test's threads.
const ALONE: &str = "THALWEG_FORKS";

/// Runs `body` in a process of its own.
fn alone(test: &str, body: fn()) {
    if std::env::var_os(ALONE).is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().expect("the test's own path"))
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("the test runs again");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Does something in a forked process, which must end in time and without an error.
fn in_a_child(work: impl FnOnce()) {
    // SAFETY: the child only does `work`, which is the test, and ends without returning. glibc supports the
    // memory functions and the standard error that `work` uses in a child.
    let child = unsafe { fork() };
    assert!(child >= 0, "no process");
    if child == 0 {
        let is_well = catch_unwind(AssertUnwindSafe(work)).is_ok();
        // SAFETY: it may be called at any time.
        unsafe { _exit(i32::from(!is_well)) }
    }
    let (start, mut status) = (Instant::now(), 0);
    // SAFETY: `status` is a place for the result, and the child is this process's own.
    while unsafe { waitpid(child, &mut status, WNOHANG) } == 0 {
        if start.elapsed() > Duration::from_secs(20) {
            // SAFETY: nobody has waited for the child, so the number is still its own.
            unsafe { kill(child, SIGKILL) };
            panic!("the child waits for ever");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(status, 0, "the child has failed");
}

#[track_caller]
fn assert_forked<T>(result: thalweg::Result<T>) {
    let error = result.err().expect("it is refused");
    assert!(matches!(error.detail(), Detail::Forked), "{error}");
}

#[test]
fn a_child_is_refused_and_waits_for_nothing() {
    alone("a_child_is_refused_and_waits_for_nothing", || {
        let device = Device::simulated(Simulation::default());
        let (mut x, mut y) = (numbers(500), vec![0.0; 500]);
        let mut next = Next::new(&device).unwrap();
        next.run(&x, &mut y).unwrap();
        let mut stream = Some(Stream::new(&device).unwrap());
        let mut buffer = Some(DeviceBuf::from_slice(&device, &x).unwrap());
        let mut pinned = Some(PinnedBuf::from_slice(&device, &x).unwrap());
        // An operation is under way, and the child must not wait for it.
        stream.as_ref().unwrap().fill(buffer.as_mut().unwrap(), 3.0).unwrap();

        in_a_child(|| {
            assert_forked(next.run(&x, &mut y));
            assert_forked(Next::new(&device));
            assert_forked(device.free_memory());
            assert_forked(PinnedBuf::<f32>::zeroed(&device, 3));
            assert_forked(DeviceBuf::<f32>::zeroed(&device, 3));
            assert_forked(Stream::new(&device));
            let (s, b, p) = (stream.take().unwrap(), buffer.take().unwrap(), pinned.take().unwrap());
            assert_forked(s.synchronize());
            assert_forked(s.host(|| ()));
            assert_forked(b.to_vec());
            assert_forked(p.wait());
            assert!(p.is_empty(), "page-locked memory need not be there");
            // Another device fails as well, since the threads of this crate are not there.
            let other = Device::simulated(Simulation::default());
            assert_forked(Next::new(&other));
            let message = Next::new(&other).err().unwrap().to_string();
            assert!(message.contains("forked"), "{message}");
            drop((s, b, p, next, other, device));
        });

        // Nothing has changed in the parent.
        let (stream, buffer) = (stream.unwrap(), buffer.unwrap());
        stream.synchronize().unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [3.0; 500]);
        assert_eq!(pinned.unwrap()[..], x);
        let mut again = Next::new(&Device::simulated(Simulation::default())).unwrap();
        x.truncate(100);
        again.run(&x, &mut y[..100]).unwrap();
        assert!(x.iter().zip(&y).all(|(x, y)| *y == x + 1.0));
    });
}

#[test]
fn a_child_has_no_sessions_and_no_jobs() {
    alone("a_child_has_no_sessions_and_no_jobs", || {
        let device = Device::simulated(Simulation::default());
        let mut next = Next::new(&device).unwrap();
        let mut session = Session::start(move |x, y| next.run(x, y)).unwrap();
        session.push(&[1.0; 64]).unwrap();
        let mut y = [0.0; 64];
        assert_eq!(session.pull(&mut y).unwrap(), 64);
        let ((mut pusher, _x), (_y, mut puller)) = (session::input::<f32>(), session::output::<f32>());
        let (go, wait) = channel::<()>();
        let job = thalweg::job::spawn(move || Ok(wait.recv().is_ok())).unwrap();
        let (mut session, mut job) = (Some(session), Some(job));

        in_a_child(|| {
            let mut session = session.take().unwrap();
            assert_forked(session.push(&[1.0; 1000]));
            assert_forked(session.pull(&mut [0.0; 1000]));
            assert_forked(session.flush());
            assert_forked(session.close());
            assert_forked(pusher.push(&[1.0]));
            assert_forked(puller.pull(&mut [1.0]));
            assert_forked(job.take().unwrap().wait());
            // The child can have jobs of its own.
            assert_eq!(thalweg::job::spawn(|| Ok(3)).unwrap().wait().unwrap(), 3);
            let mut job = std::pin::pin!(thalweg::job::spawn(|| Ok(4)).unwrap());
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            while Future::poll(job.as_mut(), &mut context).is_pending() {}
        });

        let mut session = session.unwrap();
        session.push(&[2.0; 64]).unwrap();
        assert_eq!((session.pull(&mut y).unwrap(), y), (64, [3.0; 64]));
        assert_eq!(session.close().unwrap().chunks, 2);
        go.send(()).unwrap();
        assert!(job.unwrap().wait().unwrap());
    });
}

/// Whether the device is asked about itself, about one whose link is known, or about one that it has not met.
#[test]
fn a_child_cannot_ask_about_peers() {
    alone("a_child_cannot_ask_about_peers", || {
        let machine = Device::simulated_machine(MachineModel::h200(3));
        let single = Device::simulated(Simulation::default());
        let [one, other, third] = &machine[..] else { panic!("there are three") };
        assert!(one.can_access_peer(other).unwrap() && !one.can_access_peer(&single).unwrap());
        let table = DeviceBuf::from_slice(one, &numbers(100)).unwrap();
        let mut copy = DeviceBuf::<f32>::zeroed(other, 100).unwrap();

        in_a_child(|| {
            for asked in [one, other, third, &single] {
                assert_forked(one.can_access_peer(asked));
                assert_forked(asked.can_access_peer(one));
            }
            assert_forked(table.copy_to(&mut copy));
        });

        assert!(one.can_access_peer(third).unwrap());
        table.copy_to(&mut copy).unwrap();
        assert_eq!(copy.to_vec().unwrap(), numbers(100));
    });
}

/// Ends loops when it is dropped.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The child is forked at any moment, whatever other threads have locked.
#[test]
fn a_child_of_busy_threads_waits_for_nothing() {
    alone("a_child_of_busy_threads_waits_for_nothing", || {
        let device = Device::simulated(Simulation::default());
        let stop = AtomicBool::new(false);
        let is_on = || !stop.load(Ordering::Relaxed);
        let stream = Stream::new(&device).unwrap();
        let (go, wait) = channel::<()>();
        let mut job = Some(thalweg::job::spawn(move || Ok(wait.recv().is_ok())).unwrap());
        std::thread::scope(|scope| {
            // The guard also works if a child has failed.
            let _stops = Stops(&stop);
            scope.spawn(|| {
                while is_on() {
                    stream.capture(|_| Ok(())).unwrap();
                    stream.host(|| ()).unwrap();
                    stream.query().unwrap();
                }
            });
            scope.spawn(|| {
                let (x, mut y) = (numbers(500), vec![0.0; 500]);
                let mut next = Next::new(&device).unwrap();
                while is_on() {
                    next.run(&x, &mut y).unwrap();
                    drop(thalweg::job::spawn(|| Ok(())).unwrap());
                }
            });
            for _ in 0..FORKS {
                let ((mut pusher, x), (z, mut puller)) = (session::input::<f32>(), session::output::<f32>());
                let mut ends = Some((x, z));
                scope.spawn(move || {
                    // The loops run until the other ends are dropped.
                    while pusher.try_push(&[1.0]).is_ok() && puller.try_pull(&mut [0.0]).is_ok() {}
                });
                std::thread::sleep(Duration::from_millis(3));
                in_a_child(|| {
                    // Nobody runs with these arguments, but the child cannot know that.
                    drop(ends.take());
                    assert_forked(stream.capture(|stream| stream.host(|| ())));
                    assert_forked(stream.query());
                    assert_forked(Next::new(&device));
                    assert_forked(thalweg::job::scope(|scope| {
                        scope.spawn(|| Next::new(&device)).unwrap().wait()
                    }));
                    let all = (format!("{device:?} {stream:?} {job:?}"), device.is_simulated());
                    assert!(!all.0.is_empty());
                    let its = job.take().unwrap();
                    its.cancel();
                    assert!(its.is_done(), "nobody will carry it out here");
                    assert_forked(its.try_wait().expect("there is nothing to wait for"));
                    drop(stream.clone());
                    let its = device.clone();
                    let session = Session::start(move |x, z| Next::new(&its)?.run(x, z));
                    assert_forked(session.and_then(Session::close));
                    assert!(thalweg::explore::explore(1, 3, |device| Next::new(device).map(drop)).is_err());
                });
                drop(ends.take());
            }
        });
        go.send(()).unwrap();
        assert!(job.unwrap().wait().unwrap());
    });
}

/// A child that is forked before the first device can use devices.
#[test]
fn a_child_that_opens_the_first_device_is_as_good_as_any() {
    alone("a_child_that_opens_the_first_device_is_as_good_as_any", || {
        in_a_child(|| {
            let (x, mut y) = (numbers(500), vec![0.0; 500]);
            Next::new(&Device::simulated(Simulation::default())).unwrap().run(&x, &mut y).unwrap();
            assert!(x.iter().zip(&y).all(|(x, y)| *y == x + 1.0));
            // A child of the child is refused.
            let device = Device::simulated(Simulation::default());
            in_a_child(|| assert_forked(Next::new(&device)));
        });
    });
}
