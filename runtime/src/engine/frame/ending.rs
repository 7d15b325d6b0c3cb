//! What the error of one device means for the others of its run.

use std::thread;

use crate::base::error::{Detail, Error, Result};

/// The chunk before which a run ends because of what came of one device; `None` if that has not failed.
pub(super) fn end_of<T, R>(
    outcome: &thread::Result<T>,
    result: impl FnOnce(&T) -> Result<&R, &Error>,
) -> Option<usize> {
    let error = match outcome.as_ref().map(result) {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => Some(error),
        Err(_) => None,
    };
    // The chunks before the one that a source does not have are whole, whichever device has them.
    let of_source =
        |error: &&Error| is_of_no_device(error.detail()) && !matches!(error.detail(), Detail::Cancelled);
    Some(error.filter(of_source).and_then(|error| error.place().chunk).map_or(0, |chunk| chunk as usize))
}

/// The error with its device, if it is of one.
pub(super) fn named(error: Error, name: impl FnOnce(Error) -> Error) -> Error {
    if is_of_no_device(error.detail()) { error } else { name(error) }
}

/// Whether whichever device notices it first reports it, although it is of no device or of all of them.
fn is_of_no_device(detail: &Detail) -> bool {
    matches!(
        detail,
        Detail::Cancelled
            | Detail::Source { .. }
            | Detail::Sink { .. }
            | Detail::SourceEnded { .. }
            | Detail::SourcesDiffer { .. }
            | Detail::PartInChunk { .. }
            | Detail::NoChunkOfParts { .. }
    )
}
