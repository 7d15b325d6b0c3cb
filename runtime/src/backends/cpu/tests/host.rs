use std::sync::mpsc;

use super::*;

#[test]
fn a_function_comes_in_its_streams_order() {
    let rig = Rig::new();
    let (stream, x) = (rig.stream(), rig.device(64));
    let [from, h, to] = [(); 3].map(|()| rig.pinned(64));
    rig.put(from, 7);
    rig.up(stream, tag(0, 0), x, from).unwrap();
    rig.down(stream, tag(1, 0), h, x).unwrap();
    let accesses = [access(rig.address(h), 64, true)];
    let job = move || {
        let h: Pinned = h;
        // SAFETY: the job names the range, and its stream orders what conflicts.
        let bytes = unsafe { std::slice::from_raw_parts_mut(h.ptr.as_ptr(), h.bytes) };
        bytes.iter_mut().for_each(|byte| *byte += 1);
    };
    rig.host(stream, tag(2, 0), &accesses, job).unwrap();
    rig.up(stream, tag(3, 0), x, h).unwrap();
    rig.down(stream, tag(4, 0), to, x).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(rig.get(to), [8; 64]);
    // Device memory is none of a function's.
    let refused = rig.host(stream, tag(0, 0), &[access(x, 10, false)], || {}).unwrap_err();
    assert_eq!((refused.call, refused.code), ("cuLaunchHostFunc", 1));
}

#[test]
fn what_is_before_a_failure_alone_is_called_and_the_rest_is_dropped() {
    let rig = Rig::new();
    let (stream, log) = (rig.stream(), Log::default());
    rig.signal(stream, tag(0, 0), log.note(0)).unwrap();
    rig.launch(stream, tag(1, 0), &[], || panic!("no")).unwrap();
    rig.host(stream, tag(2, 0), &[], log.note(1)).unwrap();
    rig.signal(stream, tag(3, 0), log.note(2)).unwrap();
    assert_eq!(rig.sync(stream).unwrap_err().tag, Some((1, 0)));
    assert_eq!((log.taken(), Arc::strong_count(&log.0)), (vec![0], 1));
    // A device that goes drops them, too.
    rig.signal(stream, tag(2, 2), log.note(3)).unwrap();
    drop(rig);
    assert_eq!((log.taken(), Arc::strong_count(&log.0)), (vec![], 1));
}

#[test]
fn a_function_that_unwinds_has_returned() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a destructor");
        }
    }
    let rig = Rig::new();
    let (stream, log) = (rig.stream(), Log::default());
    rig.host(stream, tag(0, 0), &[], || panic!("no")).unwrap();
    rig.signal(stream, tag(1, 0), || std::panic::panic_any(Bomb)).unwrap();
    rig.host(stream, tag(2, 0), &[], log.note(2)).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(log.taken(), [2]);
    // One that is dropped may panic, too.
    let bomb = Bomb;
    rig.launch(stream, tag(0, 1), &[], || panic!("no")).unwrap();
    rig.host(stream, tag(1, 1), &[], move || drop(bomb)).unwrap();
    assert_eq!(rig.sync(stream).unwrap_err().tag, Some((0, 1)));
    rig.sync(stream).unwrap();
    // So may those that a device still has when it goes.
    let bomb = Bomb;
    rig.host(stream, tag(1, 2), &[], move || drop(bomb)).unwrap();
}

/// Neither a body nor a function may wait for a device, whichever it is.
#[test]
fn what_a_device_calls_cannot_wait_for_a_device() {
    let rig = Rig::new();
    let (stream, results) = (rig.stream(), Arc::new(Mutex::new(Vec::new())));
    let job = || {
        let (inner, noted) = (rig.clone(), Arc::clone(&results));
        move || {
            let codes = [inner.sync(stream), Rig::new().cpu.synchronize_device()];
            noted.lock().unwrap().extend(codes.map(|result| result.map_err(|error| error.code)));
        }
    };
    rig.signal(stream, tag(0, 0), job()).unwrap();
    rig.host(stream, tag(1, 0), &[], job()).unwrap();
    rig.launch(stream, tag(2, 0), &[], job()).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(*results.lock().unwrap(), [Err(800); 6]);
}

/// The host answers after its wait for the other stream.
#[test]
fn a_function_may_wait_for_what_the_host_does_next() {
    let rig = Rig::new();
    let (one, other) = (rig.stream(), rig.stream());
    let (tell, told) = mpsc::channel();
    rig.host(one, tag(0, 0), &[], move || told.recv().expect("the host answers")).unwrap();
    let log = Log::default();
    rig.launch(other, tag(1, 0), &[], log.note(1)).unwrap();
    rig.sync(other).unwrap();
    assert_eq!(log.taken(), [1]);
    tell.send(()).unwrap();
    rig.sync(one).unwrap();
}

/// Bodies and functions may use rayon, and have threads of the device's.
#[test]
fn bodies_have_the_devices_threads() {
    let rig = Rig::with(CpuOptions::default().threads(3));
    let (stream, (tell, told)) = (rig.stream(), mpsc::channel());
    let body = move || {
        let name = std::thread::current().name().map(str::to_owned);
        tell.send((rayon::current_num_threads(), name)).unwrap();
    };
    rig.launch(stream, tag(0, 0), &[], body).unwrap();
    rig.sync(stream).unwrap();
    let (threads, name) = told.recv().unwrap();
    assert!(threads == 3 && name.is_some_and(|name| name.starts_with("thalweg-cpu-")));
}
