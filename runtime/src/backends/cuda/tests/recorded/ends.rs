//! The calls of waits for streams that are nearly done.

use super::ok;
use crate::backends::cuda::Cuda;
use crate::driver::{Driver, DriverResult, RawStream};

fn recorded(test: &str, flags: &[&str], variables: &[(&str, &str)], body: fn()) -> Option<String> {
    super::recorded(&format!("ends::{test}"), flags, variables, body)
}

/// Streams can write words.
const WRITES: &[&str] = &["-DWRITE_VALUE"];

fn wait(device: &dyn Driver, stream: RawStream) -> DriverResult<()> {
    // SAFETY: the tests destroy no stream.
    unsafe { device.synchronize_soon(stream) }
}

/// Waits for two streams, for the first one twice.
fn three_waits() {
    let device = Cuda::open(0).expect("the stub's device");
    let (a, b) = (ok(device.create_stream(0)), ok(device.create_stream(0)));
    for stream in [a, b, a] {
        ok(wait(&*device, stream));
    }
}

/// The calls that were recorded from the second stream on.
fn waits(calls: &str) -> Vec<&str> {
    calls.lines().skip_while(|line| !line.starts_with("cuStreamCreateWithPriority s2")).skip(1).collect()
}

#[test]
fn a_word_tells_that_a_stream_is_done() {
    let calls = recorded("a_word_tells_that_a_stream_is_done", WRITES, &[], three_waits);
    let Some(calls) = calls else { return };
    // The word counts on, whichever stream writes it.
    assert_eq!(
        waits(&calls),
        [
            "cuMemHostAlloc h1 4096 flags=2",
            "cuStreamWriteValue32 s1 h1 1",
            "cuStreamWriteValue32 s2 h1 2",
            "cuStreamWriteValue32 s1 h1 3",
            "cuMemFreeHost h1",
            "cuDevicePrimaryCtxRelease 0",
        ]
    );
}

#[test]
fn what_takes_longer_is_waited_for_by_the_driver() {
    let late = [("THALWEG_LATE_WRITES", "1")];
    let calls = recorded("what_takes_longer_is_waited_for_by_the_driver", WRITES, &late, three_waits);
    let Some(calls) = calls else { return };
    assert_eq!(
        waits(&calls),
        [
            "cuMemHostAlloc h1 4096 flags=2",
            "cuStreamWriteValue32 s1 h1 1",
            "cuStreamSynchronize s1",
            "cuStreamWriteValue32 s2 h1 2",
            "cuStreamSynchronize s2",
            "cuStreamWriteValue32 s1 h1 3",
            "cuStreamSynchronize s1",
            "cuMemFreeHost h1",
            "cuDevicePrimaryCtxRelease 0",
        ]
    );
}

#[test]
fn without_words_the_driver_waits() {
    let calls = recorded("without_words_the_driver_waits", &[], &[], three_waits);
    let Some(calls) = calls else { return };
    let synchronized = ["cuStreamSynchronize s1", "cuStreamSynchronize s2", "cuStreamSynchronize s1"];
    assert_eq!(waits(&calls), [&synchronized[..], &["cuDevicePrimaryCtxRelease 0"]].concat());
}

#[test]
fn a_device_that_cannot_write_words_is_asked_once() {
    let refused = [("THALWEG_FAIL", "cuStreamWriteValue32:801:1+")];
    let calls = recorded("a_device_that_cannot_write_words_is_asked_once", WRITES, &refused, three_waits);
    let Some(calls) = calls else { return };
    assert_eq!(
        waits(&calls),
        [
            "cuMemHostAlloc h1 4096 flags=2",
            "cuStreamWriteValue32 s1 h1 1 -> 801",
            "cuStreamSynchronize s1",
            "cuStreamSynchronize s2",
            "cuStreamSynchronize s1",
            "cuMemFreeHost h1",
            "cuDevicePrimaryCtxRelease 0",
        ]
    );
}

#[test]
fn no_memory_for_words_is_no_error() {
    let refused = [("THALWEG_FAIL", "cuMemHostAlloc:2:1")];
    let calls = recorded("no_memory_for_words_is_no_error", WRITES, &refused, three_waits);
    let Some(calls) = calls else { return };
    assert_eq!(
        waits(&calls)[1..4],
        ["cuStreamSynchronize s1", "cuMemHostAlloc h1 4096 flags=2", "cuStreamWriteValue32 s2 h1 1"]
    );
}

#[test]
fn a_word_that_may_still_be_written_is_never_freed() {
    let lost = [("THALWEG_LATE_WRITES", "1"), ("THALWEG_FAIL", "cuStreamSynchronize:700:1")];
    let calls = recorded("a_word_that_may_still_be_written_is_never_freed", WRITES, &lost, || {
        let device = Cuda::open(0).expect("the stub's device");
        let (a, b) = (ok(device.create_stream(0)), ok(device.create_stream(0)));
        let error = wait(&*device, a).expect_err("the device failed");
        assert_eq!((error.call, error.code), ("cuStreamSynchronize", 700));
        // The first word stays out of use.
        ok(wait(&*device, b));
    });
    let Some(calls) = calls else { return };
    assert_eq!(
        waits(&calls),
        [
            "cuMemHostAlloc h1 4096 flags=2",
            "cuStreamWriteValue32 s1 h1 1",
            "cuStreamSynchronize s1 -> 700",
            "cuStreamWriteValue32 s2 h1+4 1",
            "cuStreamSynchronize s2",
            "cuDevicePrimaryCtxRelease 0",
        ]
    );
}

/// Each wait gives its word back.
#[test]
fn many_waits_on_many_threads_take_few_words() {
    let calls = recorded("many_waits_on_many_threads_take_few_words", WRITES, &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let stream = ok(device.create_stream(0));
                    (0..1000).for_each(|_| ok(wait(&*device, stream)));
                });
            }
        });
    });
    let Some(calls) = calls else { return };
    let count = |call: &str| calls.lines().filter(|line| line.starts_with(call)).count();
    assert_eq!(count("cuStreamWriteValue32"), 4000);
    // There is at most one page for each thread, if they begin together. All pages are freed.
    let pages = count("cuMemHostAlloc");
    assert!((1..=4).contains(&pages), "{pages}");
    assert_eq!(count("cuMemFreeHost"), pages);
}
