//! Device memory, host memory that a device may reach, and the host arguments of a run.

mod device;
mod host;
mod pinned;

pub(crate) use device::DeviceMemory;
pub(crate) use host::HostMemory;
pub use host::{HostSource, InOut, Input, Output, PinnedInOut, PinnedInput, PinnedOutput};
pub use pinned::PinnedBuf;
pub(crate) use pinned::PinnedCore;
