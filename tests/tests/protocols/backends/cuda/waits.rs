//! Waiting for a stream by a word that it writes, and looking at such a word: a thread that has waited, or has seen
//! it, sees all that the stream has done, whichever stream had the word before, and no page is freed that a stream
//! may still write.

use std::sync::Arc;

use loom::thread;

use super::api::Api;
use super::ends::Ends;
use super::handles::stream_handle;
use super::result::Computed;
use crate::check;
use crate::driver::RawStream;

/// A device, and the words of its streams.
struct Device {
    api: Api,
    ends: Ends,
}

impl Device {
    fn new(failures: usize) -> Arc<Self> {
        let api = Api::default();
        api.failures.set(failures);
        Arc::new(Self { api, ends: Ends::new() })
    }

    fn start(self: &Arc<Self>, stream: u64) {
        let device = Arc::clone(self);
        thread::spawn(move || device.api.work_off(stream_handle(RawStream(stream))));
    }

    /// Makes a stream compute something and waits for it; returns whether that succeeded.
    fn compute(&self, stream: u64, value: u32) -> bool {
        let (stream, result) = (stream_handle(RawStream(stream)), Arc::<Computed>::default());
        let computed = Arc::clone(&result);
        self.api.launch(stream, move || computed.set(value));
        // SAFETY: the stream is destroyed later.
        let waited = unsafe { self.ends.synchronize(&self.api, stream) };
        if waited.is_ok() {
            assert_eq!(result.get(), value);
        }
        waited.is_ok()
    }

    /// Makes a stream compute something and then count a word up. Meanwhile the host looks at the word a few times, and
    /// has the result if it sees it.
    fn count(&self, stream: u64, value: u32, looks: usize) -> bool {
        let (stream, result) = (stream_handle(RawStream(stream)), Arc::<Computed>::default());
        let computed = Arc::clone(&result);
        self.api.launch(stream, move || computed.set(value));
        let count = self.ends.take(&self.api).expect("streams can write");
        // SAFETY: the stream is destroyed later, and the words are closed after that.
        let seen = unsafe {
            assert!(self.ends.count_up(&self.api, &count, stream).expect("streams can write"));
            (0..looks).any(|_| {
                thread::yield_now();
                self.ends.is_there(&count)
            })
        };
        if seen {
            assert_eq!(result.get(), value);
        }
        // SAFETY: as above.
        unsafe { self.ends.give_back(count) };
        seen
    }

    fn destroy(&self, stream: u64) {
        self.api.destroy(stream_handle(RawStream(stream)));
    }
}

/// Two host threads wait for a stream each, with words that come and go.
#[test]
fn who_waits_sees_what_its_stream_has_done() {
    check(1, || {
        let device = Device::new(0);
        [0, 1].into_iter().for_each(|stream| device.start(stream));
        let other = {
            let device = Arc::clone(&device);
            thread::spawn(move || {
                assert!(device.compute(1, 1));
                device.destroy(1);
            })
        };
        assert!(device.compute(0, 2));
        device.destroy(0);
        other.join().expect("no panic");
        device.ends.close(Some(&device.api));
    });
}

/// One stream after the other gets the same word.
#[test]
fn a_word_goes_from_one_stream_to_the_next() {
    check(2, || {
        let device = Device::new(0);
        [0, 1].into_iter().for_each(|stream| device.start(stream));
        for (stream, value) in [(0, 1), (1, 2)] {
            assert!(device.compute(stream, value));
        }
        [0, 1].into_iter().for_each(|stream| device.destroy(stream));
        device.ends.close(Some(&device.api));
    });
}

/// A stream whose wait failed writes its word later: no other stream gets that word, and its page stays.
#[test]
fn a_word_that_may_be_written_serves_nobody_else() {
    check(2, || {
        let device = Device::new(1);
        [0, 1].into_iter().for_each(|stream| device.start(stream));
        let (first, second) = (device.compute(0, 1), device.compute(1, 2));
        // The first wait of the driver reports the failure.
        assert!(first || second);
        [0, 1].into_iter().for_each(|stream| device.destroy(stream));
        device.ends.close(Some(&device.api));
    });
}

/// The host gives a word back before it has seen it written, or afterwards; then another stream gets it.
#[test]
fn a_count_shows_what_its_stream_has_done() {
    check(2, || {
        let device = Device::new(0);
        [0, 1].into_iter().for_each(|stream| device.start(stream));
        for (stream, looks) in [(0, 2), (1, 1)] {
            device.count(stream, 7, looks);
        }
        [0, 1].into_iter().for_each(|stream| device.destroy(stream));
        device.ends.close(Some(&device.api));
    });
}
