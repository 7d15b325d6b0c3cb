//! Sources and sinks while a run goes on: their threads, or the callers in their place.

pub(crate) mod awaited;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod streamed;
