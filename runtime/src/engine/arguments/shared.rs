//! What the whole run shares: `resident` data, copied in before the first chunk, and what is carried from chunk to chunk,
//! copied in before it and out after the last. What is on the device already is at most filled.

use crate::driver::DevicePtr;
use crate::engine::arguments::HostSource;

/// One `resident` or `carry` of a call.
pub(crate) struct Shared<'a> {
    /// Its index among the plan's buffers.
    pub(crate) buffer: usize,
    pub(crate) data: Data<'a>,
    /// In bytes, of all of it.
    pub(crate) bytes: usize,
    /// The bytes of the element it starts from; else it starts from `data`.
    pub(crate) init: Option<Vec<u8>>,
}

/// The argument.
pub(crate) enum Data<'a> {
    /// Copied to the ring, and back at the end if it is `carried`.
    Host { source: HostSource<'a>, carried: bool },
    /// Used where it is.
    Device(DevicePtr),
}

impl<'a> Shared<'a> {
    /// The argument, if it is the host's.
    pub(crate) fn source(&self) -> Option<&HostSource<'a>> {
        match &self.data {
            Data::Host { source, .. } => Some(source),
            Data::Device(_) => None,
        }
    }
}
