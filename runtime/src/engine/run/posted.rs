//! [`Posted`]: the streams on which collectives of a run may be under way.

use std::cell::RefCell;

use crate::device::Device;
use crate::driver::{DriverResult, RawStream};

/// The streams on which collectives may be under way.
#[derive(Debug, Default)]
pub(crate) struct Posted(RefCell<Vec<RawStream>>);

impl Posted {
    pub(super) fn note(&self, stream: RawStream) {
        let mut streams = self.0.borrow_mut();
        if !streams.contains(&stream) {
            streams.push(stream);
        }
    }

    /// Waits until the collectives that were enqueued are over.
    ///
    /// # Errors
    /// What was on a stream has failed, or a rank has.
    ///
    /// # Safety
    /// The streams are live: those of a run, as long as it lasts.
    pub(super) unsafe fn wait(&self, device: &Device) -> DriverResult<()> {
        self.0.take().into_iter().try_for_each(|stream| {
            // SAFETY: the caller's promise.
            unsafe { device.driver().synchronize_stream(stream) }
        })
    }
}
