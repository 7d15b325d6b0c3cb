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
    assert_eq!((error.call, error.code, error.tag), ("cuLaunchKernel", 719, Some((1, 5))));
    assert_eq!(host_body(&error), Some("row 3 is empty"));
    assert_eq!(log.taken(), [1]);
    rig.sync(stream).unwrap();
    rig.launch(stream, tag(0, 0), &[], log.note(3)).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(log.taken(), [3]);
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
    rig.launch(up, tag(0, 0), &[], log.note(0)).unwrap();
    rig.record(a, up);
    rig.launch(up, tag(1, 0), &[], log.note(1)).unwrap();
    rig.wait(math, a);
    rig.launch(math, tag(2, 0), &[], || panic!("no")).unwrap();
    rig.record(b, math);
    rig.wait(down, b);
    rig.launch(down, tag(3, 0), &[], log.note(3)).unwrap();
    rig.record(c, down);
    rig.launch(other, tag(4, 0), &[], log.note(4)).unwrap();
    rig.cpu.synchronize_device().unwrap();
    assert_eq!(log.taken(), [0, 1, 4]);
    let failed = Some((2, 0));
    assert_eq!(rig.sync_event(c).unwrap_err().tag, failed);
    assert_eq!(rig.is_complete(b).unwrap_err().tag, failed);
    rig.sync(up).unwrap();
    rig.sync(other).unwrap();
    assert_eq!(rig.sync(math).unwrap_err().tag, failed);
    assert_eq!(rig.sync(down).unwrap_err().tag, failed);
    // Everybody knows by now.
    rig.sync_event(b).unwrap();
    rig.wait(other, b);
    rig.launch(other, tag(5, 0), &[], log.note(5)).unwrap();
    [up, math, down, other].iter().for_each(|&stream| rig.sync(stream).unwrap());
    assert_eq!(log.taken(), [5]);
}

#[test]
fn a_kernel_without_a_host_body_cannot_be_loaded() {
    static MODULE: KernelModule = KernelModule::cuda("k.cu", "");
    static KERNEL: KernelInfo = KernelInfo::new("k", &MODULE);
    let rig = Rig::new();
    let error = rig.cpu.load(&KERNEL).unwrap_err();
    assert!(matches!(error.detail(), Detail::NoHostBody { kernel: "k", .. }));
    assert_eq!(
        error.to_string(),
        "kernel `k` has no host body for the CPU: add `#[host(…)]` to its declaration, or write the kernel in Rust"
    );
}

#[test]
fn bad_ranges_and_handles_are_refused() {
    let rig = Rig::new();
    let (stream, x, h) = (rig.stream(), rig.device(100), rig.pinned(100));
    let copy = |to, from, bytes| Command::CopyOnDevice { to, from, bytes };
    let refused = [
        copy(x, DevicePtr(512), 8),
        copy(x.offset(50), x, 51),
        copy(rig.address(h), x, 8),
        Command::Fill { to: x.offset(99), pattern: &[0], count: 2 },
        Command::Fill { to: x.offset(1), pattern: &[0, 1], count: 2 },
        Command::Fill { to: x, pattern: &[0; 4], count: usize::MAX },
    ];
    for command in refused {
        assert_eq!(rig.enqueue(stream, tag(0, 0), command).unwrap_err().code, 1);
    }
    assert_eq!(rig.launch(stream, tag(0, 0), &[access(x, 101, true)], || {}).unwrap_err().code, 1);
    // Nothing is anywhere.
    rig.enqueue(stream, tag(0, 0), copy(DevicePtr(8), DevicePtr(16), 0)).unwrap();
    rig.launch(stream, tag(0, 0), &[access(DevicePtr(8), 0, true)], || {}).unwrap();
    rig.sync(stream).unwrap();
    assert_eq!(rig.sync(RawStream(0)).unwrap_err().code, 400);
    assert_eq!(rig.sync_event(RawEvent(0)).unwrap_err().code, 400);
}

#[test]
fn threads_are_at_least_one() {
    let error = Cpu::new(CpuOptions::default().threads(0)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`CpuOptions::threads(0)` is no number of threads for the CPU: it takes at least 1"
    );
    let many = Cpu::new(CpuOptions::default().threads(1000)).unwrap();
    assert_eq!(many.hands.threads(), 1000);
}
