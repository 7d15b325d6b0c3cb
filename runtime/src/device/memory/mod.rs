//! Device memory, and host memory that a device may reach.

mod device;
mod device_buf;
mod device_slice;
mod pinned;
mod pinned_slice;
mod transfer;

pub(crate) use device::{DeviceMemory, release};
pub use device_buf::DeviceBuf;
pub(crate) use device_buf::DeviceCore;
pub(crate) use device_slice::owner;
pub use pinned::PinnedBuf;
pub(crate) use pinned::PinnedCore;
pub(crate) use pinned_slice::PinnedRange;
pub use pinned_slice::{PinnedSlice, PinnedSliceMut};
pub(crate) use transfer::{Direction, NO_OPERATION, Transfer};
