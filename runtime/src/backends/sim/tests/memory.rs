use super::*;

#[test]
fn new_device_memory_is_poison_and_new_pinned_memory_is_zero() {
    let rig = Rig::new();
    let (stream, at, to) = (rig.stream(), rig.device(100), rig.pinned(100));
    assert_eq!(rig.get(to), [0; 100]);
    rig.down(stream, tag(0, 0), to, at).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(rig.get(to), [0xFF; 100]);
    assert!(f32::from_ne_bytes([0xFF; 4]).is_nan());
}

#[test]
fn memory_is_aligned() {
    let rig = Rig::new();
    for bytes in [0, 1, 255, 257, (256 << 20) + 1, 5 << 30] {
        assert_eq!(rig.device(bytes).0 % 256, 0);
        let pinned = rig.pinned(bytes);
        assert_eq!(pinned.ptr.addr().get() % 64, 0);
        rig.free_pinned(pinned).unwrap();
    }
}

/// This is as on a GPU, whose memsets write words.
#[test]
fn fills_of_misaligned_memory_are_refused() {
    let rig = Rig::new();
    let (stream, at) = (rig.stream(), rig.device(64));
    // SAFETY: see `Rig`.
    let fill = |offset, pattern: &[u8]| unsafe {
        rig.sim.enqueue(Command::Fill { to: at.offset(offset), pattern, count: 2 }, stream, tag(0, 0))
    };
    let ways: [(usize, &[u8]); 6] =
        [(1, &[1]), (1, &[1, 2, 3]), (2, &[1, 2]), (6, &[1; 6]), (4, &[1; 4]), (4, &[1; 8])];
    for (offset, pattern) in ways {
        fill(offset, pattern).unwrap();
    }
    let ways: [(usize, &[u8]); 4] = [(1, &[1, 2]), (2, &[1; 4]), (6, &[1; 8]), (3, &[1; 6])];
    for (offset, pattern) in ways {
        let error = fill(offset, pattern).unwrap_err();
        assert_eq!((error.code, &*error.name), (1, "CUDA_ERROR_INVALID_VALUE"), "{pattern:?} at {offset}");
    }
    rig.sync(stream).unwrap();
}

#[test]
fn device_memory_is_limited() {
    let rig = Rig::with(Simulation::h200().with_memory(1024));
    let free = || rig.sim.free_memory().unwrap();
    let first = rig.device(700);
    assert_eq!(free(), 1024 - 768);
    let error = rig.sim.allocate(257).unwrap_err();
    assert_eq!((error.code, &*error.name), (2, "CUDA_ERROR_OUT_OF_MEMORY"));
    assert!(error.is_out_of_memory());
    rig.free(first).unwrap();
    assert_eq!(free(), 1024);
    rig.device(1024);
    assert_eq!(free(), 0);
}

#[test]
fn pinned_memory_is_limited() {
    let rig = Rig::with(Simulation::h200().with_pinned_memory(1024));
    let first = rig.pinned(1024);
    assert_eq!(rig.sim.allocate_pinned(1).unwrap_err().code, 2);
    rig.free_pinned(first).unwrap();
    rig.free_pinned(rig.pinned(1)).unwrap();
}

#[test]
fn no_size_aborts() {
    let rig = Rig::with(Simulation::h200().with_memory(u64::MAX).with_pinned_memory(u64::MAX));
    for bytes in [usize::MAX, usize::MAX - 255, usize::MAX / 2, isize::MAX as usize, 1 << 50] {
        assert_eq!(rig.sim.allocate(bytes).unwrap_err().code, 2);
        assert_eq!(rig.sim.allocate_pinned(bytes).unwrap_err().code, 2);
    }
    assert_eq!(rig.sim.free_memory().unwrap(), u64::MAX);
}

#[test]
fn ranges_outside_of_allocations_are_refused() {
    let rig = Rig::new();
    let (stream, at, host) = (rig.stream(), rig.device(1000), rig.pinned(1000));
    let code = |result: DriverResult<()>| result.unwrap_err().code;
    assert_eq!(code(rig.up(stream, tag(0, 0), at.offset(1), host)), 1);
    assert_eq!(code(rig.up(stream, tag(0, 0), DevicePtr(4096), host)), 1);
    assert_eq!(code(rig.up(stream, tag(0, 0), DevicePtr(u64::MAX), host)), 1);
    assert_eq!(code(rig.down(stream, tag(0, 0), Pinned { bytes: 1001, ..host }, at)), 1);
    assert_eq!(code(rig.down(stream, tag(0, 0), Pinned { bytes: usize::MAX, ..host }, at)), 1);
    assert_eq!(code(rig.launch(stream, tag(0, 0), &[read(at, 1001)], || {})), 1);
    assert_eq!(code(rig.across(stream, tag(0, 0), at.offset(499), at, 500)), 1);
    rig.across(stream, tag(0, 0), at.offset(500), at, 500).unwrap();
    // The address of the other kind of memory.
    let as_device = DevicePtr(host.ptr.addr().get() as u64);
    assert_eq!(code(rig.across(stream, tag(0, 0), as_device, at, 10)), 1);
    let mut ordinary = vec![0_u8; 1000];
    let ordinary = Pinned { ptr: NonNull::new(ordinary.as_mut_ptr()).unwrap(), bytes: 1000 };
    assert_eq!(code(rig.up(stream, tag(0, 0), at, ordinary)), 1);
    rig.sync(stream).unwrap();
}

#[test]
fn memory_in_use_is_not_freed() {
    let rig = Rig::new();
    let (stream, at, host) = (rig.stream(), rig.device(1000), rig.pinned(1000));
    rig.up(stream, tag(3, 14), at, host).unwrap();
    for error in [rig.free(at).unwrap_err(), rig.free_pinned(host).unwrap_err()] {
        assert_eq!(error.code, 1);
        assert!(error.description.contains("in use by operation 3 of chunk 14"), "{error}");
        assert_eq!(error.tag, Some((3, 14)));
    }
    rig.sync(stream).unwrap();
    rig.free(at).unwrap();
    rig.free_pinned(host).unwrap();
}

/// The copy is complete by the time of the second stream's wait, but nothing has told the host.
#[test]
fn memory_is_in_use_until_the_host_has_waited_for_it() {
    let rig = Rig::new();
    let (first, second, event) = (rig.stream(), rig.stream(), rig.event());
    let (at, host, long) = (rig.device(10), rig.pinned(10), rig.device(256 << 20));
    rig.up(first, tag(0, 0), at, host).unwrap();
    rig.record(event, first);
    rig.kernel(second, tag(1, 0), &[read(long, 256 << 20)]);
    rig.sync(second).unwrap();
    assert_eq!(rig.free(at).unwrap_err().code, 1);
    rig.sync_event(event).unwrap();
    rig.free(at).unwrap();
    rig.free_pinned(host).unwrap();
}

#[test]
fn freed_memory_is_refused() {
    let rig = Rig::new();
    let (stream, at, host) = (rig.stream(), rig.device(1000), rig.pinned(1000));
    rig.free(at).unwrap();
    assert_eq!(rig.free(at).unwrap_err().code, 1);
    assert_eq!(rig.up(stream, tag(0, 0), at, host).unwrap_err().code, 1);
    rig.free_pinned(host).unwrap();
    assert_eq!(rig.free_pinned(host).unwrap_err().code, 1);
}

#[test]
fn a_device_may_go_with_work_and_memory_left() {
    let rig = Rig::new();
    let (stream, at, host) = (rig.stream(), rig.device(1000), rig.pinned(1000));
    rig.up(stream, tag(0, 0), at, host).unwrap();
    assert_eq!(rig.free_pinned(host).unwrap_err().code, 1);
    let log = Log::default();
    rig.launch(stream, tag(1, 0), &[], log.note(1)).unwrap();
    drop(rig);
    assert_eq!(log.taken(), []);
}

#[test]
fn copies_of_redirected_pinned_memory_go_straight_to_the_other() {
    let rig = Rig::new();
    let (stream, at, slot) = (rig.stream(), rig.device(100), rig.pinned(100));
    let (mut source, mut result) = (vec![7_u8; 100], vec![0_u8; 100]);
    rig.put(slot, 1);
    assert!(rig.redirect(slot, Some(&mut source)));
    rig.up(stream, tag(0, 0), at, slot).unwrap();
    // The copy uses the bytes that are there when it is carried out.
    source.fill(8);
    rig.sync(stream).unwrap();
    assert!(rig.redirect(slot, Some(&mut result)));
    rig.down(stream, tag(1, 0), slot, at).unwrap();
    assert_eq!(result, [0; 100], "before anyone has waited");
    rig.sync(stream).unwrap();
    assert_eq!((result, rig.get(slot)), (vec![8; 100], vec![1; 100]));
}

#[test]
fn copies_beyond_what_is_redirected_stay_where_they_are() {
    let rig = Rig::new();
    let (stream, at, slot) = (rig.stream(), rig.device(100), rig.pinned(100));
    let mut source = vec![7_u8; 99];
    rig.put(slot, 1);
    assert!(rig.redirect(slot, Some(&mut source)));
    rig.up(stream, tag(0, 0), at, slot).unwrap();
    rig.sync(stream).unwrap();
    assert!(rig.redirect(slot, None));
    rig.down(stream, tag(1, 0), slot, at).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(rig.get(slot), [1; 100]);
}

#[test]
fn nothing_else_is_redirected() {
    let rig = Rig::new();
    let (device, inside) = (rig.device(100), rig.pinned(100));
    let device = Pinned { ptr: NonNull::new(device.0 as *mut u8).unwrap(), bytes: 100 };
    // SAFETY: the allocation has 100 bytes.
    let inside = Pinned { ptr: unsafe { inside.ptr.add(1) }, bytes: 99 };
    assert!(!rig.redirect(device, None) && !rig.redirect(inside, None));
    // In the adversary's order, the CPU's copies are tested too.
    let rig = Rig::with(Simulation::h200().adversarial(1));
    let slot = rig.pinned(100);
    assert!(!rig.redirect(slot, Some(&mut [0; 100])));
}
