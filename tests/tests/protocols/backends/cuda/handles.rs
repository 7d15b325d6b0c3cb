//! Handles of streams.

use cudarc::driver::sys::CUstream;

use crate::driver::RawStream;

pub(crate) const PER_THREAD_STREAM: u64 = 2;

pub(crate) fn stream_handle(stream: RawStream) -> CUstream {
    std::ptr::without_provenance_mut(stream.0 as usize)
}
