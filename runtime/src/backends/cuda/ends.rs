//! Waiting for a stream that is nearly done.
//!
//! The stream writes a word of page-locked memory at its end, and the host polls the word.
//! `cuStreamSynchronize` polls too, but takes longer to notice: on an H200 a graph of three small kernels is
//! known to be over after 10.9 us instead of 11.4, and the slowest of a hundred after 13.5 instead of 17.2.
//! Streams that take longer are left to `cuStreamSynchronize`: then there is no difference, and it may be
//! told to sleep.

use std::time::Duration;

use super::api::Api;
use super::sys::CUstream;
use super::words::Words;
use crate::base::sync::{AtomicBool, Instant, Ordering, spin};
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

impl Ends {
    pub(super) fn new() -> Self {
        Self { words: Words::new(), off: AtomicBool::new(false), lost: AtomicBool::new(false) }
    }

    /// Waits until everything enqueued has completed, and reports its failures.
    ///
    /// # Safety
    /// The stream is live, and its context is current.
    pub(super) unsafe fn synchronize(&self, api: &Api, stream: CUstream) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        let synchronize = || unsafe { api.cuStreamSynchronize(stream) };
        if !api.has_write_value() || self.off.load(Ordering::Relaxed) {
            return synchronize();
        }
        let Ok((word, before)) = self.words.take(api) else { return synchronize() };
        let end = before.wrapping_add(1);
        // SAFETY: the caller's promise; the word stays until the device is dropped, and if it is not known to
        // be written by then, beyond that.
        if unsafe { api.write_value(stream, word.device, end) }.is_err() {
            // The error does not matter: if it belongs to earlier work on the stream, waiting for the stream
            // reports it.
            self.off.store(true, Ordering::Relaxed);
            return synchronize();
        }
        // SAFETY: the words are closed when the device is dropped.
        let now = unsafe { self.words.look_at(word) };
        let start = Instant::now();
        // Whoever sees the word sees everything that the device has written before it.
        let is_over = || spin(LOOKS, || now.load(Ordering::Acquire) == end);
        while !is_over() {
            if start.elapsed() > PATIENCE {
                synchronize().inspect_err(|_| self.lost.store(true, Ordering::Relaxed))?;
                break;
            }
        }
        self.words.give_back(word, end);
        Ok(())
    }

    /// The device is going, and its streams with it.
    pub(super) fn close(&self, api: Option<&Api>) {
        // Memory that may still be written stays.
        if !self.lost.load(Ordering::Relaxed) {
            self.words.close(api);
        }
    }
}
