//! Handles of streams and events. The crate handles them as numbers, since threads share them.

use std::ptr;

use super::sys::{CUevent, CUstream};
use crate::driver::{RawEvent, RawStream};

/// `CU_STREAM_LEGACY`: the null stream, whatever a thread's default is.
pub(crate) const LEGACY_STREAM: u64 = 1;
/// `CU_STREAM_PER_THREAD`: the calling thread's own stream.
pub(crate) const PER_THREAD_STREAM: u64 = 2;

#[inline]
pub(super) fn stream_handle(stream: RawStream) -> CUstream {
    ptr::with_exposed_provenance_mut(stream.0 as usize)
}

#[inline]
pub(super) fn event_handle(event: RawEvent) -> CUevent {
    ptr::with_exposed_provenance_mut(event.0 as usize)
}
