//! Single events for the crate `tracing`. Without its feature they do nothing, and without a subscriber they
//! cost next to nothing.

use super::error::Error;

/// The target of every span and event.
#[cfg(feature = "tracing")]
pub(crate) const TARGET: &str = "thalweg";

/// The user is told of an error.
#[allow(unused_variables, reason = "a feature uses it")]
pub(crate) fn failed(error: &Error) {
    #[cfg(feature = "tracing")]
    {
        let place = error.place();
        tracing::error!(
            target: TARGET,
            pipeline = place.pipeline,
            stage = place.stage,
            operation = place.operation,
            chunk = place.chunk,
            site = place.site.map(tracing::field::display),
            "{}",
            error.detail(),
        );
    }
}

/// Memory was allocated for a buffer's slots, or for a staging slot. `what` is the buffer's name or the copy.
#[allow(unused_variables, reason = "a feature uses them")]
pub(crate) fn allocated(what: &str, bytes: usize, on_device: bool) {
    #[cfg(feature = "tracing")]
    tracing::debug!(target: TARGET, what, bytes, on_device, "memory allocated");
}

/// A kernel source was compiled for an architecture (such as `sm_90`), or taken from the cache.
#[allow(unused_variables, reason = "a feature uses them")]
pub(crate) fn compiled(file: &str, architecture: &str, from_cache: bool) {
    #[cfg(feature = "tracing")]
    match from_cache {
        true => tracing::debug!(target: TARGET, file, architecture, cache = "hit", "kernels loaded"),
        false => tracing::debug!(target: TARGET, file, architecture, cache = "miss", "kernels compiled"),
    }
}
