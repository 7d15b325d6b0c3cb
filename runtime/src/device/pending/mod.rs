//! What is pending on which memory: the operations of streams by hand, their order, and what became of them.
//!
//! Nothing here names a [`Device`](crate::device::Device), which has the registry: what is needed of one is an [`Owner`], and what is
//! needed of a stream, a [`Stream`].

mod allocations;
pub(crate) mod callbacks;
mod caller;
mod callers;
mod failures;
mod known;
mod owner;
pub(crate) mod progress;
mod registry;
mod stream;
pub(crate) mod uses;

pub(crate) use callbacks::is_callback;
pub(crate) use caller::{Caller, caller, raced};
pub(crate) use callers::Callers;
// Note 54: these two traits keep the registry below the device.
pub(crate) use owner::Owner;
pub(crate) use registry::Registry;
pub(crate) use stream::{Kind, Stream};
pub(crate) use uses::{Held, Memory, Uses};
