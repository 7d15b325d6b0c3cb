//! What the call of a run is given: host memory, device memory, sources and sinks.

mod device_source;
mod host;
pub(crate) mod in_place;
pub(crate) mod shape;
pub(crate) mod shared;
pub(crate) mod written;

pub use crate::engine::arguments::device_source::{DeviceInOut, DeviceInput, DeviceOutput, DeviceSource};
pub(crate) use crate::engine::arguments::host::HostMemory;
pub use crate::engine::arguments::host::{
    HostSource, InOut, Input, MappedInOut, MappedInput, MappedOutput, Output, PinnedInOut, PinnedInput,
    PinnedOutput,
};
