//! [`Stream`]: a stream as the registry, and the memory that it uses, see it.

use std::any::Any;
use std::sync::Arc;
use std::thread::ThreadId;

use super::progress::{Clock, Handle, Progress};
use crate::base::error::Error;

/// The kind of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The stream and the null stream do not wait for each other.
    NonBlocking,
    /// The stream and the null stream wait for each other.
    Blocking,
    /// The legacy default stream.
    Null,
    /// The default stream of one thread, which is a blocking stream.
    PerThread(ThreadId),
    /// Another library's stream. How it relates to the null stream is not known.
    Lent,
}

impl Kind {
    /// Whether the stream and the null stream wait for each other.
    pub(crate) fn is_legacy(self) -> bool {
        matches!(self, Self::Blocking | Self::Null | Self::PerThread(_))
    }
}

/// A stream by hand, as far as others need it. Its implementation lies above: it has a device, which has the
/// registry.
pub(crate) trait Stream: Any + Handle {
    fn kind(&self) -> Kind;

    fn progress(&self) -> &Arc<Progress>;

    /// The number of operations so far, including those that were refused.
    fn enqueued(&self) -> u64;

    /// Everything before a point after the operation that was enqueued last.
    fn clock(&self) -> Clock;

    /// Takes the errors that were kept while somebody else waited.
    fn take_kept(&self) -> Option<Error>;

    /// The same stream, for callers that know its type.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}
