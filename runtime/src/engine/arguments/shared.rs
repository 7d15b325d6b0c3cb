//! Data that the whole run shares: `resident` data, copied in before the first chunk, and carried data,
//! copied in before the first chunk and out after the last. Data already on the device are at most filled.

use crate::driver::DevicePtr;
use crate::engine::arguments::HostSource;

/// One `resident` or `carry` of a call.
pub(crate) struct Shared<'a> {
    /// Its index among the plan's buffers.
    pub(crate) buffer: usize,
    pub(crate) data: Data<'a>,
    /// Total size in bytes.
    pub(crate) bytes: usize,
    /// The bytes of the element it starts from; without them it starts from `data`.
    pub(crate) init: Option<Vec<u8>>,
}

/// The argument.
pub(crate) enum Data<'a> {
    /// Copied to the ring, and back at the end if it is `carried`.
    Host { source: HostSource<'a>, carried: bool },
    /// Used where it lies.
    Device(DevicePtr),
}

impl<'a> Shared<'a> {
    /// The argument, if it is in host memory.
    pub(crate) fn source(&self) -> Option<&HostSource<'a>> {
        match &self.data {
            Data::Host { source, .. } => Some(source),
            Data::Device(_) => None,
        }
    }
}
