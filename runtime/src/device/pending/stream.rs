//! [`Stream`]: a stream as the registry, and memory that it uses, know it.

use std::any::Any;
use std::sync::Arc;
use std::thread::ThreadId;

use super::progress::{Clock, Progress};
use crate::base::error::Error;

/// What kind of stream it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It has nothing to do with the null stream.
    NonBlocking,
    /// It waits for the null stream, and that for it.
    Blocking,
    /// The legacy default stream.
    Null,
    /// The default stream of one thread. It is a blocking one.
    PerThread(ThreadId),
    /// Another library's. What it has to do with the null stream is not known.
    Lent,
}

impl Kind {
    /// Whether it and the null stream wait for each other.
    pub(crate) fn is_legacy(self) -> bool {
        matches!(self, Self::Blocking | Self::Null | Self::PerThread(_))
    }
}

/// A stream by hand, as far as others need it. What makes it one is above: it has a device, which has the registry.
pub(crate) trait Stream: Any + Send + Sync {
    fn kind(&self) -> Kind;

    fn progress(&self) -> &Arc<Progress>;

    /// Operations so far, those that were refused too.
    fn enqueued(&self) -> u64;

    /// What comes before a point after the operation enqueued last.
    fn clock(&self) -> Clock;

    /// Waits for the first `number` operations, and keeps what goes wrong; `false` if it cannot be waited for.
    fn wait_for(&self, number: u64) -> bool;

    /// What went wrong while somebody else waited.
    fn take_kept(&self) -> Option<Error>;

    /// The same, for whoever knows what it really is.
    fn into_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
}
