use super::*;

fn free(rig: &Rig) -> u64 {
    rig.cpu.state().memory.free()
}

#[test]
fn memory_is_zeroed_and_aligned_and_counted() {
    let rig = Rig::with(CpuOptions::default().memory(10_000));
    let (stream, x, h) = (rig.stream(), rig.device(100), rig.pinned(1000));
    assert!(x.0.is_multiple_of(256) && h.ptr.addr().get().is_multiple_of(64));
    rig.put(h, 5);
    rig.down(stream, tag(0, 0), Pinned { bytes: 100, ..h }, x).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(rig.get(h)[..101], [[0; 100].as_slice(), &[5]].concat());
    assert_eq!(free(&rig), 10_000 - 1100);
    let error = rig.cpu.allocate(8901).unwrap_err();
    assert!(
        error.is_out_of_memory() && error.description == "8901 bytes were asked for, 8900 are free",
        "{error}"
    );
    assert!(rig.cpu.allocate_pinned(usize::MAX).unwrap_err().is_out_of_memory());
    rig.free(x).unwrap();
    rig.free_pinned(h).unwrap();
    assert_eq!((free(&rig), rig.free(x).unwrap_err().code), (10_000, 1));
}

#[test]
fn what_the_machine_has_not_is_refused() {
    let rig = Rig::with(CpuOptions::default().memory(u64::MAX));
    let error = rig.cpu.allocate(1 << 46).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    assert_eq!(free(&rig), u64::MAX, "nothing is counted");
    assert!(rig.cpu.free_memory().unwrap() < 1 << 46);
}

/// A command that is not complete keeps its memory, whether it waits, runs, or has a failure before it.
#[test]
fn memory_in_use_is_not_freed() {
    let rig = Rig::new();
    let (stream, other, gate) = (rig.stream(), rig.stream(), rig.event());
    let (x, y, h) = (rig.device(100), rig.device(100), rig.pinned(100));
    rig.launch(other, tag(7, 0), &[], || {}).unwrap();
    rig.record(gate, other);
    rig.wait(stream, gate);
    rig.up(stream, tag(0, 3), x, h).unwrap();
    rig.launch(stream, tag(1, 3), &[access(x.offset(10), 5, false)], || {}).unwrap();
    for refused in [rig.free(x), rig.free_pinned(h)] {
        let error = refused.unwrap_err();
        assert_eq!((error.code, error.tag), (1, Some((0, 3))));
        assert!(error.description.contains("operation 0 of chunk 3"), "{error}");
    }
    let detail = rig.free(x).unwrap_err().detail;
    assert_eq!(detail.as_deref(), Some(&DriverDetail::Users(vec![tag(0, 3), tag(1, 3)])));
    rig.free(y).unwrap();
    rig.sync(stream).unwrap();
    rig.free(x).unwrap();
    rig.free_pinned(h).unwrap();
    // Skipped work uses nothing.
    let x = rig.device(100);
    rig.launch(stream, tag(0, 4), &[], || panic!("no")).unwrap();
    rig.launch(stream, tag(1, 4), &[access(x, 100, true)], || {}).unwrap();
    rig.free(x).unwrap_err();
    rig.cpu.synchronize_device().unwrap();
    rig.free(x).unwrap();
    rig.sync(stream).unwrap_err();
}

#[test]
fn memory_of_a_running_body_is_not_freed() {
    let rig = Rig::new();
    let (stream, x) = (rig.stream(), rig.device(1000));
    let (tell, told) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let body = move || {
        tell.send(()).unwrap();
        gone.recv().unwrap();
        filled(x, 1000, 3)();
    };
    rig.launch(stream, tag(2, 0), &[access(x, 1000, true)], body).unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| rig.sync(stream));
        told.recv().unwrap();
        assert_eq!(rig.free(x).unwrap_err().tag, Some((2, 0)));
        go.send(()).unwrap();
        waits.join().unwrap().unwrap();
    });
    rig.free(x).unwrap();
}

/// What is copied through page-locked memory that stands for other memory is copied once.
#[test]
fn copies_are_redirected() {
    let rig = Rig::new();
    let (stream, x, slot) = (rig.stream(), rig.device(100), rig.pinned(100));
    let (mut from, mut to) = ([1_u8; 60], [0_u8; 60]);
    let redirect = |to: Option<&mut [u8]>| {
        let to = to.map(|to| (to.as_mut_ptr(), to.len()));
        // SAFETY: the test leaves the bytes alone until the copies are over.
        unsafe { rig.cpu.redirect(slot.ptr, to) }
    };
    assert!(redirect(Some(&mut from)));
    rig.up(stream, tag(0, 0), x, Pinned { bytes: 60, ..slot }).unwrap();
    rig.sync(stream).unwrap();
    assert!(redirect(Some(&mut to)));
    rig.down(stream, tag(1, 0), Pinned { bytes: 60, ..slot }, x).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!((to, rig.get(slot)), ([1; 60], vec![0; 100]));
    assert!(redirect(None));
    // More bytes than stand elsewhere are the slot's own.
    rig.down(stream, tag(2, 0), slot, x).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(rig.get(slot)[..60], [1; 60]);
    rig.free_pinned(slot).unwrap();
    // SAFETY: it is refused.
    assert!(!unsafe { rig.cpu.redirect(slot.ptr, None) });
}

#[test]
fn memory_of_others_is_not_counted_and_stays_theirs() {
    let rig = Rig::new();
    let (stream, x, before) = (rig.stream(), rig.device(100), free(&rig));
    let mut own = vec![6_u8; 100];
    let ptr = NonNull::new(own.as_mut_ptr()).unwrap();
    // SAFETY: the vector stays until it is unregistered.
    unsafe { rig.cpu.register(ptr, 100) }.unwrap();
    rig.up(stream, tag(0, 0), x, Pinned { ptr, bytes: 100 }).unwrap();
    // SAFETY: it is refused, since the copy uses it.
    assert_eq!(unsafe { rig.cpu.unregister(ptr) }.unwrap_err().tag, Some((0, 0)));
    rig.sync(stream).unwrap();
    // SAFETY: it was registered, and nothing uses it.
    unsafe { rig.cpu.unregister(ptr) }.unwrap();
    assert_eq!((free(&rig), own[99]), (before, 6));
    assert_eq!(rig.cpu.disown(ptr).unwrap_err().code, 1);
}
