//! The operations of streams by hand that are pending on memory, their order, and their outcome.
//!
//! Nothing here names a [`Device`](crate::device::Device), since that has the registry. An [`Owner`] stands
//! for a device, and a [`Stream`] for a stream, with the methods that are needed here.

mod allocations;
pub(crate) mod callbacks;
mod caller;
mod callers;
mod failures;
mod known;
mod launched;
mod owner;
pub(crate) mod progress;
mod registry;
mod series;
mod stream;
pub(crate) mod uses;

pub(crate) use callbacks::is_callback;
pub(crate) use caller::{Caller, caller, raced};
pub(crate) use callers::Callers;
pub(crate) use launched::{Launches, SharedFaults};
// Note 54: these two traits keep the registry below the device.
pub(crate) use owner::Owner;
pub(crate) use registry::Registry;
pub(crate) use stream::{Kind, Stream};
pub(crate) use uses::{Held, Memory, MemoryHandle, Uses};
