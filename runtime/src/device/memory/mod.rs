//! Device memory, and host memory that a device may reach.

mod copied;
mod device_buf;
mod owned;
mod peers;
mod pinned;
mod pinned_core;
mod pinned_slice;
mod sharded;
mod transfer;

pub use device_buf::DeviceBuf;
pub(crate) use device_buf::DeviceCore;
pub(crate) use owned::DeviceMemory;
pub(crate) use peers::{copied_between, peer_copy};
pub use pinned::PinnedBuf;
pub(crate) use pinned_core::PinnedCore;
pub(crate) use pinned_slice::{PinnedPart, PinnedRange};
pub use pinned_slice::{PinnedSlice, PinnedSliceMut};
pub use sharded::{Replicated, Sharded};
pub(crate) use transfer::{Direction, NO_OPERATION, Transfer};

pub(crate) use super::release::release;
