//! Waiting for a stream that is nearly done.
//!
//! The stream writes a word of page-locked memory at its end, and the host polls the word.
//! `cuStreamSynchronize` polls too, but takes longer to notice: on an H200 a graph of three small kernels is
//! known to be over after 10.9 us instead of 11.4, and the slowest of a hundred after 13.5 instead of 17.2.
//! Streams that take longer are left to `cuStreamSynchronize`: then there is no difference, and it may be
//! told to sleep.
//!
//! [`Count`]s are such words for [the places](super::counts) that a stream gets to before its end.

use std::time::Duration;

use super::api::Api;
use super::page::Word;
use super::sys::CUstream;
use super::words::Words;
use crate::base::sync::{AtomicBool, AtomicU32, Instant, Ordering, spin};
use crate::driver::DriverResult;

/// How long the host polls.
const PATIENCE: Duration = Duration::from_micros(200);

/// The number of looks at the word between two looks at the clock. There is no pause between looks, since
/// `pause` takes 40 ns.
const LOOKS: u32 = 1024;

/// The words that streams of one device write.
pub(super) struct Ends {
    words: Words,
    /// Whether streams cannot write.
    off: AtomicBool,
    /// Whether a write that was asked for may still come.
    lost: AtomicBool,
}

/// A word of one owner, which streams count up.
pub(super) struct Count {
    word: Word,
    /// The value that was asked for last.
    asked: AtomicU32,
}

impl Ends {
    pub(super) fn new() -> Self {
        Self { words: Words::new(), off: AtomicBool::new(false), lost: AtomicBool::new(false) }
    }

    /// A word for streams to count up; `None` if they cannot, or if there is no memory for it.
    ///
    /// The context is current. It may allocate memory, as [`Words::take`] does.
    pub(super) fn take(&self, api: &Api) -> Option<Count> {
        if !api.has_write_value() || self.off.load(Ordering::Relaxed) {
            return None;
        }
        let (word, value) = self.words.take(api).ok()?;
        Some(Count { word, asked: AtomicU32::new(value) })
    }

    /// Lets a stream count the word up, after everything that was enqueued on it before; `false` if streams cannot. What
    /// was asked of the word before was asked of the same stream, or is complete.
    ///
    /// # Errors
    /// The driver's. From then on streams cannot.
    ///
    /// # Safety
    /// The stream is live, and its context is current.
    pub(super) unsafe fn count_up(&self, api: &Api, count: &Count, stream: CUstream) -> DriverResult<bool> {
        if self.off.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let next = count.asked.load(Ordering::Relaxed).wrapping_add(1);
        // SAFETY: the caller's promise; the word stays until the device is dropped, and if it is not known to
        // be written by then, beyond that.
        unsafe { api.write_value(stream, count.word.device, next) }
            .inspect_err(|_| self.off.store(true, Ordering::Relaxed))?;
        count.asked.store(next, Ordering::Relaxed);
        Ok(true)
    }

    /// Whether the stream has counted up as it was asked to last. Whoever sees that sees everything that the device
    /// has written before it.
    ///
    /// # Safety
    /// The device is not [going](Self::close).
    pub(super) unsafe fn is_there(&self, count: &Count) -> bool {
        // SAFETY: by the caller's promise the words are not closed.
        let now = unsafe { self.words.look_at(count.word) };
        now.load(Ordering::Acquire) == count.asked.load(Ordering::Relaxed)
    }

    /// Lets others have the word, unless a stream may still write it.
    ///
    /// # Safety
    /// As [`is_there`](Self::is_there).
    pub(super) unsafe fn give_back(&self, count: Count) {
        // SAFETY: the caller's promise.
        if unsafe { self.is_there(&count) } {
            self.words.give_back(count.word, count.asked.load(Ordering::Relaxed));
        } else {
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    /// Waits until everything enqueued has completed, and reports its failures.
    ///
    /// # Safety
    /// The stream is live, and its context is current.
    pub(super) unsafe fn synchronize(&self, api: &Api, stream: CUstream) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        let synchronize = || unsafe { api.cuStreamSynchronize(stream) };
        let Some(end) = self.take(api) else { return synchronize() };
        // SAFETY: the caller's promise.
        if !matches!(unsafe { self.count_up(api, &end, stream) }, Ok(true)) {
            // The error does not matter: if it belongs to earlier work on the stream, waiting for the stream
            // reports it.
            return synchronize();
        }
        let start = Instant::now();
        // SAFETY: the words are closed when the device is dropped.
        let is_over = || spin(LOOKS, || unsafe { self.is_there(&end) });
        let mut outcome = Ok(());
        while !is_over() {
            if start.elapsed() > PATIENCE {
                outcome = synchronize();
                break;
            }
        }
        // SAFETY: as above.
        unsafe { self.give_back(end) };
        outcome
    }

    /// The device is going, and its streams with it.
    pub(super) fn close(&self, api: Option<&Api>) {
        // Memory that may still be written stays.
        if !self.lost.load(Ordering::Relaxed) {
            self.words.close(api);
        }
    }
}
