//! Device memory, host memory that a device may reach, and the arguments of a run.

mod copy;
mod device;
mod device_buf;
mod device_slice;
mod device_source;
pub(crate) mod first_touch;
mod host;
pub(crate) mod numa;
mod pinned;
mod pinned_slice;
mod transfer;
mod workers;

pub(crate) use copy::{Way, copy_with};
pub(crate) use device::{DeviceMemory, release};
pub use device_buf::DeviceBuf;
pub(crate) use device_buf::DeviceCore;
pub use device_source::{DeviceInOut, DeviceInput, DeviceOutput, DeviceSource};
pub(crate) use host::HostMemory;
pub use host::{
    HostSource, InOut, Input, MappedInOut, MappedInput, MappedOutput, Output, PinnedInOut, PinnedInput,
    PinnedOutput,
};
pub use pinned::PinnedBuf;
pub(crate) use pinned::PinnedCore;
pub(crate) use pinned_slice::PinnedRange;
pub use pinned_slice::{PinnedSlice, PinnedSliceMut};
pub(crate) use transfer::{Direction, NO_OPERATION, Transfer};
pub(crate) use workers::{PIECE, Task, Workers, let_a_moment_pass};
