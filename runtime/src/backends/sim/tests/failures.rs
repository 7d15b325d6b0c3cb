use super::*;
use crate::base::error::Detail;
use crate::base::kernel::{KernelInfo, KernelModule};

#[test]
fn a_panicking_body_is_an_error_and_the_stream_recovers() {
    let rig = Rig::new();
    let (stream, log) = (rig.stream(), Log::default());
    rig.launch(stream, tag(0, 4), &[], log.note(1)).unwrap();
    rig.launch(stream, tag(1, 5), &[], || panic!("row {} is empty", 3)).unwrap();
    rig.launch(stream, tag(2, 5), &[], log.note(2)).unwrap();
    let error = rig.sync(stream).unwrap_err();
    assert_eq!((error.call, error.code), ("cuLaunchKernel", 719));
    assert_eq!(error.name, "CUDA_ERROR_LAUNCH_FAILED");
    assert_eq!(error.tag, Some((1, 5)));
    assert_eq!(host_body(&error), Some("row 3 is empty"));
    assert_eq!(log.taken(), [1]);

    rig.sync(stream).unwrap();
    rig.launch(stream, tag(0, 0), &[], log.note(3)).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(log.taken(), [3]);
}

#[test]
fn any_payload_is_an_error() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a payload's destructor");
        }
    }
    let rig = Rig::new();
    let stream = rig.stream();
    rig.launch(stream, tag(0, 0), &[], || std::panic::panic_any(Bomb)).unwrap();
    assert_eq!(host_body(&rig.sync(stream).unwrap_err()), Some("no message"));
    rig.sync(stream).unwrap();
}

/// ```text
/// up    [ 0 ]--a  [ 1 ]
/// math          \--[ 2: panics ]--b
/// down                             \--[ 3 ]--c
/// other [ 4 ]
/// ```
#[test]
fn a_failure_reaches_what_comes_after_it() {
    let rig = Rig::new();
    let [up, math, down, other] = [(); 4].map(|()| rig.stream());
    let [a, b, c] = [(); 3].map(|()| rig.event());
    let log = Log::default();
    let program = |fail: bool| {
        rig.launch(up, tag(0, 0), &[], log.note(0)).unwrap();
        rig.record(a, up);
        rig.launch(up, tag(1, 0), &[], log.note(1)).unwrap();
        rig.wait(math, a);
        let note = log.note(2);
        rig.launch(math, tag(2, 0), &[], move || if fail { panic!("no") } else { note() }).unwrap();
        rig.record(b, math);
        rig.wait(down, b);
        rig.launch(down, tag(3, 0), &[], log.note(3)).unwrap();
        rig.record(c, down);
        rig.launch(other, tag(4, 0), &[], log.note(4)).unwrap();
    };
    program(true);
    assert_eq!(rig.sync_event(c).unwrap_err().tag, Some((2, 0)));
    assert_eq!(rig.sync_event(b).unwrap_err().tag, Some((2, 0)));
    // Each stream that was reached reports the failure once. Work before or beside the failure is done.
    let results = [up, math, down, other].map(|stream| rig.sync(stream).is_ok());
    assert_eq!(results, [true, false, false, true]);
    let mut done = log.taken();
    done.sort();
    assert_eq!(done, [0, 1, 4]);
    rig.sync_event(b).unwrap();
    rig.sync_event(c).unwrap();

    // The events of the failed run cause no trouble: a ring waits for them before it records them again.
    rig.wait(up, c);
    program(false);
    for stream in [up, math, down, other] {
        rig.sync(stream).unwrap();
    }
    let mut done = log.taken();
    done.sort();
    assert_eq!(done, [0, 1, 2, 3, 4]);
}

/// The wait was enqueued before the failure was reported, so it passes the failure on even afterwards.
#[test]
fn a_report_does_not_stop_a_failure_on_its_way() {
    let rig = Rig::new();
    let (math, down, event, log) = (rig.stream(), rig.stream(), rig.event(), Log::default());
    let long = rig.device(256 << 20);
    rig.kernel(down, tag(0, 0), &[read(long, 256 << 20)]);
    rig.launch(math, tag(1, 0), &[], || panic!("no")).unwrap();
    rig.record(event, math);
    rig.wait(down, event);
    rig.launch(down, tag(2, 0), &[], log.note(2)).unwrap();
    assert!(rig.sync(math).is_err());
    rig.sync(math).unwrap();
    assert_eq!(rig.sync(down).unwrap_err().tag, Some((1, 0)));
    assert_eq!(log.taken(), []);
}

/// A failed stream still waits for the others, so that after its synchronisation everything before it is
/// over.
#[test]
fn a_failed_stream_still_waits() {
    let rig = Rig::new();
    let (slow, failing, event) = (rig.stream(), rig.stream(), rig.event());
    let (long, log) = (rig.device(256 << 20), Log::default());
    rig.launch(slow, tag(0, 0), &[write(long, 256 << 20)], log.note(1)).unwrap();
    rig.record(event, slow);
    rig.launch(failing, tag(1, 0), &[], || panic!("no")).unwrap();
    rig.wait(failing, event);
    assert!(rig.sync(failing).is_err());
    assert_eq!(log.taken(), [1]);
    rig.free(long).unwrap();
}

#[test]
fn a_body_cannot_wait_for_a_device() {
    let rig = Rig::new();
    let (stream, other, event) = (rig.stream(), rig.stream(), rig.event());
    rig.kernel(other, tag(0, 0), &[]);
    rig.record(event, other);
    let results = Arc::new(Mutex::new(Vec::new()));
    let (inner, noted) = (Rig::of(Arc::clone(&rig.sim)), Arc::clone(&results));
    let another = Rig::new();
    let its = another.stream();
    another.kernel(its, tag(0, 0), &[]);
    let body = move || {
        let mut noted = noted.lock().unwrap();
        noted.push(inner.sync(other).map_err(|error| error.code));
        noted.push(inner.sync_event(event).map_err(|error| error.code));
        // It may not wait for another device either, since that would take a thread from the bodies there.
        noted.push(another.sync(its).map_err(|error| error.code));
    };
    rig.launch(stream, tag(1, 0), &[], body).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(*results.lock().unwrap(), [Err(800), Err(800), Err(800)]);
    rig.sync(other).unwrap();
}

/// The captured values of a skipped body are dropped at a point where they may call the device.
#[test]
fn skipped_bodies_are_dropped_without_the_lock() {
    struct Owner(Rig, Pinned);
    impl Drop for Owner {
        fn drop(&mut self) {
            self.0.free_pinned(self.1).unwrap();
        }
    }
    let rig = Rig::new();
    let stream = rig.stream();
    let owner = Owner(Rig::of(Arc::clone(&rig.sim)), rig.pinned(10));
    rig.launch(stream, tag(0, 0), &[], || panic!("no")).unwrap();
    rig.launch(stream, tag(1, 0), &[], move || drop(owner)).unwrap();
    assert!(rig.sync(stream).is_err());

    let owner = Owner(Rig::of(Arc::clone(&rig.sim)), rig.pinned(10));
    let refused = rig.launch(stream, tag(1, 0), &[read(DevicePtr(1), 1)], move || drop(owner));
    assert_eq!(refused.unwrap_err().code, 1);
}

#[test]
fn another_thread_is_not_held_up_by_a_failure() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        let rig = &rig;
        scope.spawn(move || {
            let stream = rig.stream();
            for chunk in 0..100 {
                rig.launch(stream, tag(0, chunk), &[], || std::panic::resume_unwind(Box::new(()))).unwrap();
                assert_eq!(rig.sync(stream).unwrap_err().tag, Some((0, chunk)));
            }
        });
        scope.spawn(move || {
            let (stream, log) = (rig.stream(), Log::default());
            for chunk in 0..100 {
                rig.launch(stream, tag(1, chunk), &[], log.note(1)).unwrap();
                rig.sync(stream).unwrap();
            }
            assert_eq!(log.taken().len(), 100);
        });
    });
}

#[test]
fn kernels_without_a_host_body_are_refused() {
    static MODULE: KernelModule = KernelModule::cuda("k.cu", "");
    static WITHOUT: KernelInfo = KernelInfo::new("k", &MODULE);
    static WITH: KernelInfo = KernelInfo::new("k", &MODULE).launch_bounds(256).on_host();
    let rig = Rig::new();
    let error = rig.sim.load(&WITHOUT).unwrap_err();
    assert!(matches!(error.detail(), Detail::NoHostBody { kernel: "k", .. }));
    assert_eq!(rig.sim.load(&WITH).unwrap().function.max_threads_per_block, 256);
}
