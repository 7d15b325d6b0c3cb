//! [`Counted`]: shows the host at once how far a stream has got.
//!
//! An event shows that too, but on an H200 its state is known 1 to 2 us later, and asking for it takes as long. So the
//! stream counts up a word of page-locked memory, which the host looks at.

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::api::Api;
use super::ends::{Count, Ends};
use super::handles::stream_handle;
use crate::driver::{DriverResult, RawCount, RawStream};

/// How often the host looks at a word before it asks the driver for the stream. A stream that has failed counts nothing
/// up.
const LOOKS: u32 = 64;

/// A word, and the stream that was asked to count it up last.
struct Counted {
    count: Count,
    stream: AtomicU64,
    looks: AtomicU32,
}

/// What is known of a count.
pub(super) enum Seen {
    Complete,
    Pending,
    /// Ask the driver for this stream.
    Ask(RawStream),
}

/// Makes a count that nothing was asked of; `None` if streams cannot count, or if there is no memory for a word. The
/// context is current.
pub(super) fn create(api: &Api, ends: &Ends) -> Option<RawCount> {
    let counted = Counted { count: ends.take(api)?, stream: AtomicU64::new(0), looks: AtomicU32::new(0) };
    Some(RawCount(Box::into_raw(Box::new(counted)).expose_provenance() as u64))
}

/// # Safety
/// The count is live as long as the reference exists.
unsafe fn live<'c>(count: RawCount) -> &'c Counted {
    // SAFETY: `create` has made it from a box, and by the caller's promise it is not destroyed.
    unsafe { &*ptr::with_exposed_provenance::<Counted>(count.0 as usize) }
}

/// Lets a stream count up after everything enqueued on it so far; `false` if streams cannot.
///
/// # Errors
/// The driver's. Then nothing was enqueued.
///
/// # Safety
/// Count and stream are live, and of this device; the context is current. What was asked of the count before is
/// complete, or is on the same stream.
pub(super) unsafe fn count_up(
    (api, ends): (&Api, &Ends),
    count: RawCount,
    stream: RawStream,
) -> DriverResult<bool> {
    // SAFETY: the caller's promise.
    let counted = unsafe { live(count) };
    // SAFETY: as above.
    let counts = unsafe { ends.count_up(api, &counted.count, stream_handle(stream)) }?;
    if counts {
        counted.stream.store(stream.0, Ordering::Relaxed);
        counted.looks.store(0, Ordering::Relaxed);
    }
    Ok(counts)
}

/// Looks at a count. One of which nothing was asked is complete.
///
/// # Safety
/// The count is live, and so is the stream that was asked last, unless the count is complete.
pub(super) unsafe fn look(ends: &Ends, count: RawCount) -> Seen {
    // SAFETY: the caller's promise.
    let counted = unsafe { live(count) };
    // SAFETY: the device is not going, since it has a count.
    if unsafe { ends.is_there(&counted.count) } {
        return Seen::Complete;
    }
    if counted.looks.fetch_add(1, Ordering::Relaxed) % LOOKS < LOOKS - 1 {
        return Seen::Pending;
    }
    Seen::Ask(RawStream(counted.stream.load(Ordering::Relaxed)))
}

/// # Safety
/// The count is live, and not used any more.
pub(super) unsafe fn destroy(ends: &Ends, count: RawCount) {
    // SAFETY: `create` has made it from a box, which is taken back here only.
    let counted = unsafe { Box::from_raw(ptr::with_exposed_provenance_mut::<Counted>(count.0 as usize)) };
    // SAFETY: the device is not going, since it had the count until now.
    unsafe { ends.give_back(counted.count) };
}
