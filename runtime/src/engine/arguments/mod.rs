//! What the call of a run is given: host memory, device memory, sources and sinks.

mod device_source;
pub(crate) mod handles;
mod host;
pub(crate) mod in_place;
pub(crate) mod shape;
pub(crate) mod shared;
pub(crate) mod written;

use in_place::InPlace;
use shape::{BufferShape, Shape};

pub use device_source::{DeviceInOut, DeviceInput, DeviceOutput, DeviceSource};
pub(crate) use host::HostMemory;
pub use host::{
    HostSource, InOut, Input, MappedInOut, MappedInput, MappedOutput, Output, PinnedInOut, PinnedInput,
    PinnedOutput,
};

/// Room for what a call knows of its arguments, empty between runs but for the last one's shapes, by which a failed run counts.
#[derive(Debug, Default)]
pub(crate) struct Room {
    pub(crate) host_shapes: Vec<Shape>,
    pub(crate) buffers: Vec<BufferShape>,
    pub(crate) in_place: Vec<InPlace>,
    pub(crate) words: Vec<u64>,
}
