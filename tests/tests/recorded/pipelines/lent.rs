//! Memory that is lent more than once: each use of a part waits for all operations on its bytes.

use thalweg::__private::Detail;
use thalweg::prelude::*;
use thalweg::streams::Stream;
use thalweg::{DeviceBuf, PinnedBuf};

const TWICE: &str = "THALWEG_LENT_TWICE";
const N: usize = 1000;

/// Lends memory of `theirs`, which lives for the whole test. Only the lent buffers access it.
fn lend(theirs: &DeviceBuf<f32>, from: usize, len: usize) -> DeviceBuf<f32> {
    // SAFETY: the elements are within the buffer, which outlives the lent buffers.
    unsafe { DeviceBuf::from_raw(theirs.device(), theirs.address() + 4 * from as u64, len, ()) }
        .expect("memory")
}

/// Uploads to the buffer that was lent first, and reads it. The copy back waits for the stream.
fn upload_and_read(device: &Device) {
    let theirs = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
    let x = PinnedBuf::from_slice(device, &[1.0; N]).expect("memory");
    let stream = Stream::new(device).expect("a stream");
    let mut a = lend(&theirs, 0, N);
    let twice = std::env::var_os(TWICE).is_some_and(|twice| twice == "1");
    let others = twice.then(|| [lend(&theirs, 0, N), lend(&theirs, 100, 10)]);
    stream.note_read(&a).expect("nothing is enqueued");
    for other in others.iter().flatten() {
        stream.note_read(other).expect("nothing is enqueued");
    }
    stream.upload(&x, &mut a).expect("a copy");
    a.to_vec().expect("a copy");
}

#[test]
fn what_is_lent_twice_is_waited_for() {
    let record =
        |twice| super::recorded("lent::what_is_lent_twice_is_waited_for", &[(TWICE, twice)], upload_and_read);
    let Some(once) = record("0") else { return };
    let Some(twice) = record("1") else { return };
    assert_eq!(once, twice);
    let calls: Vec<_> = once.lines().skip_while(|line| !line.starts_with("cuMemcpyHtoDAsync")).collect();
    assert_eq!(calls[..2], ["cuMemcpyHtoDAsync d1 h1 4000 s2", "cuStreamSynchronize s2"], "{once}");
}

#[track_caller]
fn is_race(result: thalweg::Result<()>) {
    let error = result.expect_err("nothing orders them");
    assert!(matches!(error.detail(), Detail::Race { .. }), "{error}");
}

#[test]
fn uses_of_what_is_lent_twice_are_known_to_all() {
    super::recorded("lent::uses_of_what_is_lent_twice_are_known_to_all", &[], |device| {
        let theirs = DeviceBuf::<f32>::zeroed(device, N).expect("memory");
        let x = PinnedBuf::from_slice(device, &[1.0; N]).expect("memory");
        let (one, other) = (Stream::new(device).expect("one"), Stream::new(device).expect("another"));
        let (mut whole, mut part) = (lend(&theirs, 0, N), lend(&theirs, 100, 10));
        // The whole is used beside its part, and a use of common bytes counts for both.
        one.upload(&x, &mut whole).expect("a copy");
        is_race(other.upload(x.slice(..10).expect("ten"), &mut part));
        one.upload(x.slice(..10).expect("ten"), &mut part).expect("a copy");
        is_race(other.upload(&x, &mut whole));
        other
            .upload(x.slice(..100).expect("some"), whole.slice_mut(..0).expect("none"))
            .expect_err("too long");
        // Operations that are under way count for memory that is lent later.
        let mut late = lend(&theirs, 105, 100);
        is_race(other.upload(x.slice(..100).expect("some"), &mut late));
        // A graph's writes count for memory that was lent after it was captured, too.
        let graph = one.capture(|one| one.upload(x.slice(..10).expect("ten"), &mut part));
        let graph = graph.expect("a graph");
        let mut later = lend(&theirs, 109, 1);
        one.synchronize().expect("the device");
        graph.launch_with(&one, &x).expect("a launch");
        is_race(other.upload(x.slice(..1).expect("one"), &mut later));
        one.synchronize().expect("the device");
        // Dropping some of them leaves the others as they are.
        drop((part, later, graph));
        one.upload(&x, &mut whole).expect("it is still there");
        is_race(other.upload(x.slice(..100).expect("some"), &mut late));
        // The drop waits.
        drop(whole);
        other.upload(x.slice(..100).expect("some"), &mut late).expect("it is still there");
    });
}
