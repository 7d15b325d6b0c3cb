//! The calls of counts: how the host learns at once how far a stream has got.

use super::ok;
use crate::backends::cuda::Cuda;
use crate::backends::cuda::tests::TAG;
use crate::device::Device;
use crate::device::stream::Mark;
use crate::driver::{Driver, DriverResult, RawCount, RawStream};

fn recorded(test: &str, flags: &[&str], variables: &[(&str, &str)], body: fn()) -> Option<String> {
    super::recorded(&format!("counts::{test}"), flags, variables, body)
}

/// Streams can write words.
const WRITES: &[&str] = &["-DWRITE_VALUE"];

fn count_up(device: &dyn Driver, count: RawCount, stream: RawStream) -> DriverResult<bool> {
    // SAFETY: the tests destroy no stream, and a count stays on one.
    unsafe { device.count_up(count, stream, TAG) }
}

fn has_counted(device: &dyn Driver, count: RawCount) -> DriverResult<bool> {
    // SAFETY: as above.
    unsafe { device.has_counted(count) }
}

fn destroy(device: &dyn Driver, count: RawCount) {
    // SAFETY: the tests do not use it any more.
    ok(unsafe { device.destroy_count(count) });
}

fn new_count(device: &dyn Driver) -> RawCount {
    ok(device.create_count()).expect("streams can write")
}

/// The calls that were recorded from the second stream on.
fn calls_of(calls: &str) -> Vec<&str> {
    calls.lines().skip_while(|line| !line.starts_with("cuStreamCreateWithPriority s2")).skip(1).collect()
}

#[test]
fn streams_count_up_and_the_driver_is_not_asked() {
    let calls = recorded("streams_count_up_and_the_driver_is_not_asked", WRITES, &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let (a, b) = (ok(device.create_stream(0)), ok(device.create_stream(0)));
        let (of_a, of_b) = (new_count(&*device), new_count(&*device));
        assert!(ok(has_counted(&*device, of_a)), "nothing was asked of it");
        for (count, stream) in [(of_a, a), (of_b, b), (of_a, a)] {
            assert!(ok(count_up(&*device, count, stream)));
            assert!(ok(has_counted(&*device, count)));
        }
        [of_a, of_b].into_iter().for_each(|count| destroy(&*device, count));
    });
    let Some(calls) = calls else { return };
    assert_eq!(
        calls_of(&calls),
        [
            "cuMemHostAlloc h1 4096 flags=2",
            "cuStreamWriteValue32 s1 h1 1",
            "cuStreamWriteValue32 s2 h1+4 1",
            "cuStreamWriteValue32 s1 h1 2",
            "cuMemFreeHost h1",
            "cuDevicePrimaryCtxRelease 0",
        ]
    );
}

/// A stream that has failed counts nothing up: the driver is asked now and then, and tells of the failure.
#[test]
fn a_stream_that_has_failed_is_no_endless_wait() {
    let fails = [("THALWEG_LATE_WRITES", "1"), ("THALWEG_FAIL", "cuStreamQuery:700:1")];
    let calls = recorded("a_stream_that_has_failed_is_no_endless_wait", WRITES, &fails, || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        let count = new_count(&*device);
        assert!(ok(count_up(&*device, count, stream)));
        let looks = |answer| (0..).take_while(|_| has_counted(&*device, count).ok() == answer).count();
        assert_eq!(looks(Some(false)), 63);
        // The failure was the answer to the next look. After as many more, the stub says that the stream is done.
        assert_eq!(looks(Some(false)), 63);
        destroy(&*device, count);
    });
    let Some(calls) = calls else { return };
    let calls: Vec<_> = calls.lines().skip_while(|line| !line.starts_with("cuStreamWriteValue32")).collect();
    // The word was not seen to be written, so its page stays.
    assert_eq!(
        calls,
        [
            "cuStreamWriteValue32 s1 h1 1",
            "cuStreamQuery s1 -> 700",
            "cuStreamQuery s1",
            "cuDevicePrimaryCtxRelease 0"
        ]
    );
}

/// A count's word goes to the next count.
#[test]
fn many_counts_take_few_words() {
    let calls = recorded("many_counts_take_few_words", WRITES, &[], || {
        let device = Cuda::open(0).expect("the stub's device");
        let stream = ok(device.create_stream(0));
        for _ in 0..3000 {
            let count = new_count(&*device);
            assert!(ok(count_up(&*device, count, stream)));
            assert!(ok(has_counted(&*device, count)));
            destroy(&*device, count);
        }
    });
    let Some(calls) = calls else { return };
    let count = |call: &str| calls.lines().filter(|line| line.starts_with(call)).count();
    assert_eq!(
        [count("cuStreamWriteValue32"), count("cuMemHostAlloc"), count("cuMemFreeHost")],
        [3000, 1, 1]
    );
}

/// Records a mark three times: the host is not to learn of the second at once.
fn three_records() {
    let device = Device::with_driver(Cuda::open(0).expect("the stub's device"));
    let (_, stream) = (ok(device.driver().create_stream(0)), ok(device.driver().create_stream(0)));
    let mut mark = ok(Mark::new(&device));
    assert!(ok(mark.is_complete()), "it was not recorded");
    mark.prepare();
    for at_once in [true, false, true] {
        // SAFETY: the stream is never destroyed.
        ok(unsafe { mark.record(stream, TAG, at_once) });
        assert!(ok(mark.is_complete()));
        ok(mark.synchronize());
    }
}

#[test]
fn a_mark_is_a_count_where_the_host_learns_of_it_at_once() {
    let calls = recorded("a_mark_is_a_count_where_the_host_learns_of_it_at_once", WRITES, &[], three_records);
    let Some(calls) = calls else { return };
    assert_eq!(
        calls_of(&calls),
        [
            "cuEventCreate e1 flags=2",
            "cuEventQuery e1",
            "cuMemHostAlloc h1 4096 flags=2",
            "cuStreamWriteValue32 s2 h1 1",
            "cuEventRecord e1 s2",
            "cuEventQuery e1",
            "cuEventSynchronize e1",
            "cuStreamWriteValue32 s2 h1 2",
            "cuEventDestroy e1",
            "cuMemFreeHost h1",
            "cuDevicePrimaryCtxRelease 0",
        ]
    );
}

/// The calls for a mark that is an event throughout, with these in place of the word's.
fn events(instead: &[&'static str]) -> Vec<&'static str> {
    let record = ["cuEventRecord e1 s2", "cuEventQuery e1", "cuEventSynchronize e1"];
    [&["cuEventCreate e1 flags=2", "cuEventQuery e1"], instead, &[record; 3].concat(), &["cuEventDestroy e1"]]
        .concat()
}

#[test]
fn where_streams_cannot_write_words_a_mark_is_an_event() {
    let calls = recorded("where_streams_cannot_write_words_a_mark_is_an_event", &[], &[], three_records);
    let Some(calls) = calls else { return };
    assert_eq!(calls_of(&calls), [events(&[]), vec!["cuDevicePrimaryCtxRelease 0"]].concat());
}

#[test]
fn without_memory_for_a_word_a_mark_is_an_event() {
    let refused = [("THALWEG_FAIL", "cuMemHostAlloc:2:1")];
    let calls = recorded("without_memory_for_a_word_a_mark_is_an_event", WRITES, &refused, three_records);
    let Some(calls) = calls else { return };
    let calls: Vec<_> =
        calls_of(&calls).into_iter().filter(|call| !call.starts_with("cuMemHostAlloc")).collect();
    assert_eq!(calls, [events(&[]), vec!["cuDevicePrimaryCtxRelease 0"]].concat());
}

#[test]
fn a_device_that_cannot_write_words_is_asked_once_for_a_mark() {
    let refused = [("THALWEG_FAIL", "cuStreamWriteValue32:801:1+")];
    let name = "a_device_that_cannot_write_words_is_asked_once_for_a_mark";
    let calls = recorded(name, WRITES, &refused, three_records);
    let Some(calls) = calls else { return };
    let (writes, calls): (Vec<_>, Vec<_>) =
        calls_of(&calls).into_iter().partition(|call| call.starts_with("cuStreamWriteValue32"));
    assert_eq!(writes, ["cuStreamWriteValue32 s2 h1 1 -> 801"]);
    let instead = events(&["cuMemHostAlloc h1 4096 flags=2"]);
    assert_eq!(calls, [instead, vec!["cuMemFreeHost h1", "cuDevicePrimaryCtxRelease 0"]].concat());
}
