use super::*;

#[test]
fn nothing_happens_before_the_host_waits() {
    let rig = Rig::new();
    let (stream, log) = (rig.stream(), Log::default());
    rig.launch(stream, tag(0, 0), &[], log.note(1)).unwrap();
    assert_eq!(log.taken(), []);
    rig.sync(stream).unwrap();
    assert_eq!(log.taken(), [1]);
}

#[test]
fn a_stream_is_first_in_first_out() {
    let rig = Rig::new();
    let (stream, log) = (rig.stream(), Log::default());
    for number in 0..50 {
        rig.launch(stream, tag(number, 0), &[], log.note(number)).unwrap();
    }
    rig.sync(stream).unwrap();
    assert_eq!(log.taken(), (0..50).collect::<Vec<_>>());
}

#[test]
fn bytes_go_there_and_back() {
    let rig = Rig::new();
    let (stream, bytes) = (rig.stream(), 1000);
    let (from, to) = (rig.pinned(bytes), rig.pinned(bytes));
    let (a, b) = (rig.device(bytes), rig.device(bytes));
    rig.put(from, 7);
    rig.up(stream, tag(0, 0), a, from).unwrap();
    rig.across(stream, tag(1, 0), b, a, bytes).unwrap();
    rig.launch(stream, tag(2, 0), &[write(b.offset(500), 500)], fill(b.offset(500), 500, 9)).unwrap();
    rig.down(stream, tag(3, 0), to, b).unwrap();
    assert_eq!(rig.get(to), [0; 1000]);
    rig.sync(stream).unwrap();
    assert_eq!(rig.get(to), [[7; 500], [9; 500]].concat());
}

/// ```text
/// slow  [ 1 : long ]--e
/// fast                 \--[ 2 ]
/// ```
#[test]
fn a_wait_holds_until_the_event() {
    let rig = Rig::new();
    let (slow, fast, event, log) = (rig.stream(), rig.stream(), rig.event(), Log::default());
    let long = rig.device(256 << 20);
    rig.launch(slow, tag(0, 0), &[read(long, 256 << 20)], log.note(1)).unwrap();
    rig.record(event, slow);
    rig.wait(fast, event);
    rig.launch(fast, tag(1, 0), &[], log.note(2)).unwrap();
    rig.sync(fast).unwrap();
    assert_eq!(log.taken(), [1, 2]);
}

/// ```text
/// slow  [ 1 : long ]
/// fast  wait(e) [ 2 ]      e is recorded on slow only after that
/// ```
#[test]
fn a_wait_before_any_record_is_no_wait() {
    let rig = Rig::new();
    let (slow, fast, event, log) = (rig.stream(), rig.stream(), rig.event(), Log::default());
    rig.sync_event(event).unwrap();
    let long = rig.device(256 << 20);
    rig.launch(slow, tag(0, 0), &[read(long, 256 << 20)], log.note(1)).unwrap();
    rig.wait(fast, event);
    rig.record(event, slow);
    rig.launch(fast, tag(1, 0), &[], log.note(2)).unwrap();
    rig.sync(fast).unwrap();
    assert_eq!(log.taken(), [2]);
    rig.sync_event(event).unwrap();
    assert_eq!(log.taken(), [1]);
}

/// ```text
/// slow  [ 1 ]--e  [ 3 : long ]--e (again)
/// fast          \--[ 2 ]
/// ```
#[test]
fn a_wait_is_for_the_latest_record_at_that_time() {
    let rig = Rig::new();
    let (slow, fast, event, log) = (rig.stream(), rig.stream(), rig.event(), Log::default());
    let long = rig.device(256 << 20);
    rig.launch(slow, tag(0, 0), &[], log.note(1)).unwrap();
    rig.record(event, slow);
    rig.wait(fast, event);
    rig.launch(slow, tag(1, 0), &[read(long, 256 << 20)], log.note(3)).unwrap();
    rig.record(event, slow);
    rig.launch(fast, tag(2, 0), &[], log.note(2)).unwrap();
    rig.sync(fast).unwrap();
    assert_eq!(log.taken(), [1, 2]);
    rig.sync_event(event).unwrap();
    assert_eq!(log.taken(), [3]);
}

#[test]
fn waiting_for_an_event_leaves_later_work_alone() {
    let rig = Rig::new();
    let (stream, event, log) = (rig.stream(), rig.event(), Log::default());
    rig.launch(stream, tag(0, 0), &[], log.note(1)).unwrap();
    rig.record(event, stream);
    rig.launch(stream, tag(1, 0), &[], log.note(2)).unwrap();
    rig.sync_event(event).unwrap();
    assert_eq!(log.taken(), [1]);
    rig.sync(stream).unwrap();
    assert_eq!(log.taken(), [2]);
}

/// ```text
/// doomed  [ 1 ]--e   destroyed here
/// other          \--[ 2 ]
/// ```
#[test]
fn a_destroyed_stream_works_on_until_it_is_empty() {
    let rig = Rig::new();
    let (doomed, other, event, log) = (rig.stream(), rig.stream(), rig.event(), Log::default());
    rig.launch(doomed, tag(0, 0), &[], log.note(1)).unwrap();
    rig.record(event, doomed);
    rig.destroy(doomed);
    assert_eq!(rig.sync(doomed).unwrap_err().code, 400);
    assert_eq!(rig.launch(doomed, tag(1, 0), &[], || {}).unwrap_err().code, 400);
    rig.wait(other, event);
    rig.launch(other, tag(2, 0), &[], log.note(2)).unwrap();
    rig.sync(other).unwrap();
    assert_eq!(log.taken(), [1, 2]);
}

#[test]
fn handles_are_never_given_twice() {
    let rig = Rig::new();
    let (first_stream, first_event) = (rig.stream(), rig.event());
    rig.destroy(first_stream);
    // SAFETY: the event is live.
    unsafe { rig.sim.destroy_event(first_event) }.unwrap();
    let (second_stream, second_event) = (rig.stream(), rig.event());
    assert_ne!(first_stream, second_stream);
    assert_ne!(first_event, second_event);
    assert_eq!(rig.sync(first_stream).unwrap_err().code, 400);
    assert_eq!(rig.sync_event(first_event).unwrap_err().code, 400);
}

#[test]
fn copies_of_nothing_need_no_memory() {
    let rig = Rig::new();
    let stream = rig.stream();
    let nothing = Pinned { ptr: NonNull::dangling(), bytes: 0 };
    rig.up(stream, tag(0, 0), DevicePtr(0), nothing).unwrap();
    rig.down(stream, tag(1, 0), nothing, DevicePtr(0)).unwrap();
    rig.across(stream, tag(2, 0), DevicePtr(8), DevicePtr(8), 0).unwrap();
    rig.kernel(stream, tag(3, 0), &[write(DevicePtr(0), 0)]);
    rig.sync(stream).unwrap();
}

#[test]
fn two_threads_share_one_device() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        for value in 1..=2 {
            let rig = &rig;
            scope.spawn(move || {
                let (stream, bytes) = (rig.stream(), 4096);
                let (from, to, at) = (rig.pinned(bytes), rig.pinned(bytes), rig.device(bytes));
                for round in 0..200 {
                    rig.put(from, value);
                    rig.up(stream, tag(0, round), at, from).unwrap();
                    rig.launch(stream, tag(1, round), &[write(at, 100)], fill(at, 100, 10 * value)).unwrap();
                    rig.down(stream, tag(2, round), to, at).unwrap();
                    rig.sync(stream).unwrap();
                    let bytes = rig.get(to);
                    assert!(bytes[..100].iter().all(|&byte| byte == 10 * value));
                    assert!(bytes[100..].iter().all(|&byte| byte == value));
                }
                rig.free(at).unwrap();
            });
        }
    });
}
