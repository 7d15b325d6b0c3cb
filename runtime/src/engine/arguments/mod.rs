//! What the call of a run is given: host memory, device memory, sources and sinks.

mod device_source;
mod host;

pub use device_source::{DeviceInOut, DeviceInput, DeviceOutput, DeviceSource};
pub(crate) use host::HostMemory;
pub use host::{
    HostSource, InOut, Input, MappedInOut, MappedInput, MappedOutput, Output, PinnedInOut, PinnedInput,
    PinnedOutput,
};
