use super::*;

/// ```text
/// [ up 7 ] -> [ down to h ] -> [ host: h += 1 ] -> [ up h ] -> [ down ]
/// ```
#[test]
fn a_job_comes_in_its_streams_order() {
    let rig = Rig::new();
    let (stream, x) = (rig.stream(), rig.device(64));
    let [from, h, to] = [(); 3].map(|()| rig.pinned(64));
    rig.put(from, 7);
    rig.up(stream, tag(0, 0), x, from).unwrap();
    rig.down(stream, tag(1, 0), h, x).unwrap();
    let accesses = [read(rig.address(h), 64), write(rig.address(h), 64)];
    let job = move || {
        let h: Pinned = h;
        // SAFETY: the job names the range, and nothing else is carried out meanwhile.
        let bytes = unsafe { std::slice::from_raw_parts_mut(h.ptr.as_ptr(), h.bytes) };
        bytes.iter_mut().for_each(|byte| *byte += 1);
    };
    rig.host(stream, tag(2, 0), &accesses, job).unwrap();
    rig.up(stream, tag(3, 0), x, h).unwrap();
    rig.down(stream, tag(4, 0), to, x).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(rig.get(to), [8; 64]);
}

#[test]
fn jobs_are_checked_for_races() {
    let rig = Rig::new();
    let (up, work, log) = (rig.stream(), rig.stream(), Log::default());
    let (h, x, event) = (rig.pinned(100), rig.device(100), rig.event());
    rig.up(up, tag(0, 1), x, h).unwrap();
    rig.host(work, tag(1, 1), &[write(rig.address(h).offset(99), 1)], log.note(1)).unwrap();
    rig.sync(up).unwrap();
    let error = rig.sync(work).unwrap_err();
    assert_eq!((error.call, error.tag), ("race check", Some((1, 1))));
    assert_eq!(log.taken(), []);

    // Reads beside other reads, and a write after them, are no race.
    rig.up(up, tag(0, 2), x, h).unwrap();
    rig.host(work, tag(1, 2), &[read(rig.address(h), 100)], log.note(1)).unwrap();
    rig.record(event, up);
    rig.wait(work, event);
    rig.host(work, tag(2, 2), &[write(rig.address(h), 100)], log.note(2)).unwrap();
    rig.sync(up).unwrap();
    rig.sync(work).unwrap();
    assert_eq!(log.taken(), [1, 2]);
}

#[test]
fn a_job_accesses_pinned_memory_only() {
    let rig = Rig::new();
    let (stream, x, h) = (rig.stream(), rig.device(100), rig.pinned(100));
    for access in [read(x, 10), read(rig.address(h).offset(60), 41), write(DevicePtr(8), 8)] {
        let refused = rig.host(stream, tag(0, 0), &[access], || {}).unwrap_err();
        assert_eq!((refused.call, refused.code), ("cuLaunchHostFunc", 1));
    }
    rig.host(stream, tag(0, 0), &[read(DevicePtr(8), 0)], || {}).unwrap();
    rig.sync(stream).unwrap();
}

#[test]
fn the_host_runs_one_job_at_a_time() {
    let mut spec = Simulation::h200();
    spec.model.host_call = Duration::ZERO;
    spec.model.host_latency = Duration::from_micros(10);
    spec.model.signal_latency = Duration::from_micros(3);
    spec.model.host_memcpy = 1e9;
    let rig = Rig::with(spec);
    let (a, b) = (rig.stream(), rig.stream());
    let [x, y] = [(); 2].map(|()| rig.pinned(1000));
    rig.host(a, tag(0, 0), &[read(rig.address(x), 1000), write(rig.address(x), 1000)], || {}).unwrap();
    rig.host(b, tag(1, 0), &[write(rig.address(y), 1000)], || {}).unwrap();
    rig.sync(a).unwrap();
    assert_eq!(rig.clock(), Duration::from_micros(10 + 2));
    rig.sync(b).unwrap();
    assert_eq!(rig.clock(), Duration::from_micros(12 + 10 + 1));
    rig.signal(a, tag(2, 0), || {}).unwrap();
    rig.sync(a).unwrap();
    assert_eq!(rig.clock(), Duration::from_micros(23 + 3));
}

#[test]
fn signals_come_in_order_and_hold_up_nothing() {
    let rig = Rig::new();
    let (stream, other, event, log) = (rig.stream(), rig.stream(), rig.event(), Log::default());
    rig.launch(stream, tag(0, 0), &[], log.note(0)).unwrap();
    rig.signal(stream, tag(1, 0), log.note(1)).unwrap();
    rig.launch(stream, tag(2, 0), &[], log.note(2)).unwrap();
    rig.record(event, stream);
    rig.wait(other, event);
    rig.signal(other, tag(3, 0), log.note(3)).unwrap();
    rig.sync(other).unwrap();
    assert_eq!(log.taken(), [0, 1, 2, 3]);
}

#[test]
fn a_failed_stream_drops_them_uncalled() {
    let rig = Rig::new();
    let (stream, log) = (rig.stream(), Log::default());
    rig.launch(stream, tag(0, 0), &[], || panic!("no")).unwrap();
    rig.host(stream, tag(1, 0), &[], log.note(1)).unwrap();
    rig.signal(stream, tag(2, 0), log.note(2)).unwrap();
    assert_eq!(rig.sync(stream).unwrap_err().tag, Some((0, 0)));
    assert_eq!((log.taken(), Arc::strong_count(&log.0)), (vec![], 1));

    rig.host(stream, tag(1, 1), &[], log.note(1)).unwrap();
    rig.signal(stream, tag(2, 1), log.note(2)).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(log.taken(), [1, 2]);

    rig.signal(stream, tag(2, 2), log.note(3)).unwrap();
    drop(rig);
    assert_eq!((log.taken(), Arc::strong_count(&log.0)), (vec![], 1));
}

#[test]
fn a_job_that_unwinds_has_returned() {
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

    // A function that is dropped may panic, too.
    let bomb = Bomb;
    rig.launch(stream, tag(0, 1), &[], || panic!("no")).unwrap();
    rig.host(stream, tag(1, 1), &[], move || drop(bomb)).unwrap();
    assert_eq!(rig.sync(stream).unwrap_err().tag, Some((0, 1)));
    rig.sync(stream).unwrap();
}

#[test]
fn a_job_cannot_wait_for_a_device() {
    let rig = Rig::new();
    let (stream, results) = (rig.stream(), Arc::new(Mutex::new(Vec::new())));
    for signals in [false, true] {
        let (inner, noted) = (Rig::of(Arc::clone(&rig.sim)), Arc::clone(&results));
        let job = move || noted.lock().unwrap().push(inner.sync(stream).map_err(|error| error.code));
        if signals {
            rig.signal(stream, tag(0, 0), job).unwrap();
        } else {
            rig.host(stream, tag(1, 0), &[], job).unwrap();
        }
    }
    rig.sync(stream).unwrap();
    assert_eq!(*results.lock().unwrap(), [Err(800), Err(800)]);
}

#[test]
fn jobs_come_in_any_order_that_streams_allow() {
    let mut orders = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let rig = Rig::with(Simulation::h200().adversarial(seed));
        let (a, b, log) = (rig.stream(), rig.stream(), Log::default());
        rig.host(a, tag(0, 0), &[], log.note(0)).unwrap();
        rig.signal(a, tag(1, 0), log.note(1)).unwrap();
        rig.host(b, tag(2, 0), &[], log.note(2)).unwrap();
        rig.sync(a).unwrap();
        rig.sync(b).unwrap();
        orders.insert(log.taken());
    }
    assert_eq!(orders, [vec![0, 1, 2], vec![0, 2, 1], vec![2, 0, 1]].into());
}

#[test]
fn the_null_stream_is_one() {
    let rig = Rig::new();
    let null = rig.sim.null_stream().unwrap();
    assert_eq!(rig.sim.null_stream().unwrap(), null);
    let log = Log::default();
    rig.launch(null, tag(0, 0), &[], log.note(1)).unwrap();
    rig.sync(null).unwrap();
    assert_eq!(log.taken(), [1]);
    // SAFETY: see `Rig`.
    assert_eq!(unsafe { rig.sim.destroy_stream(null) }.unwrap_err().code, 400);

    let device = crate::Device::with_driver(rig.sim.clone());
    let stream = crate::device::stream::Stream::null(&device).unwrap();
    assert_eq!(stream.raw, null);
    drop(stream);
    rig.sync(null).unwrap();
}
