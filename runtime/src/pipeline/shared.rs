//! What the whole run shares: `resident` data, copied in before the first chunk, and what is carried from chunk to chunk,
//! copied in before it and out after the last. What is on the device already is at most filled.

use super::ring::Ring;
use crate::device::Device;
use crate::driver::{DevicePtr, DriverResult};
use crate::memory::{self, Direction, HostMemory, HostSource, NO_OPERATION};
use crate::stream::Stream;

/// One `resident` or `carry` of a call.
pub(super) struct Shared<'a> {
    /// Its index among the plan's buffers.
    pub(super) buffer: usize,
    pub(super) data: Data<'a>,
    /// In bytes, of all of it.
    pub(super) bytes: usize,
    /// The bytes of the element it starts from; else it starts from `data`.
    pub(super) init: Option<Vec<u8>>,
}

/// The argument.
pub(super) enum Data<'a> {
    /// Copied to the ring, and back at the end if it is `carried`.
    Host { source: HostSource<'a>, carried: bool },
    /// Used where it is.
    Device(DevicePtr),
}

impl<'a> Shared<'a> {
    /// The argument, if it is the host's.
    pub(super) fn source(&self) -> Option<&HostSource<'a>> {
        match &self.data {
            Data::Host { source, .. } => Some(source),
            Data::Device(_) => None,
        }
    }
}

/// Bytes moved.
#[derive(Debug, Default)]
pub(super) struct Moved {
    pub(super) bytes: u64,
    pub(super) staged: u64,
}

/// Where the transfers take place: with nothing else under way.
pub(super) struct Transfer<'r> {
    pub(super) device: &'r Device,
    pub(super) stream: &'r Stream,
    pub(super) ring: &'r Ring,
}

impl Transfer<'_> {
    /// Gives every shared buffer what it starts from, and waits until it is there.
    pub(super) fn begin(&self, shared: &[Shared<'_>]) -> DriverResult<Moved> {
        let mut moved = Moved::default();
        for shared in shared {
            let Some(to) = self.place(shared) else { continue };
            match (&shared.init, &shared.data) {
                (Some(pattern), _) => {
                    let count = shared.bytes.checked_div(pattern.len()).unwrap_or(0);
                    // SAFETY: `to` has room for the bytes, is aligned to 256 bytes, and lives as long as the run; the
                    // stream is waited for below, and by the run's drain if that fails.
                    unsafe { self.device.driver().fill(to, pattern, count, self.stream.raw, NO_OPERATION)? };
                }
                (None, Data::Host { source, .. }) => {
                    self.move_all(to, source, shared.bytes, Direction::In, &mut moved)?;
                }
                (None, Data::Device(_)) => {}
            }
        }
        self.stream.synchronize()?;
        Ok(moved)
    }

    /// Gives back what is carried. The device has completed everything.
    pub(super) fn end(&self, shared: &[Shared<'_>]) -> DriverResult<Moved> {
        let mut moved = Moved::default();
        for shared in shared {
            let (Some(from), Data::Host { source, carried: true }) = (self.place(shared), &shared.data)
            else {
                continue;
            };
            self.move_all(from, source, shared.bytes, Direction::Out, &mut moved)?;
        }
        Ok(moved)
    }

    /// Where it is on the device, with room for all of it.
    fn place(&self, shared: &Shared<'_>) -> Option<DevicePtr> {
        match shared.data {
            Data::Device(ptr) => Some(ptr),
            Data::Host { .. } => {
                let (ptr, room) = self.ring.slot(shared.buffer, 0)?;
                (shared.bytes <= room).then_some(ptr)
            }
        }
    }

    fn move_all(
        &self,
        device: DevicePtr,
        host: &HostSource<'_>,
        bytes: usize,
        direction: Direction,
        moved: &mut Moved,
    ) -> DriverResult<()> {
        moved.bytes += bytes as u64;
        match &host.memory {
            HostMemory::Pinned(range) => {
                // SAFETY: `device` has room for `bytes` and lives as long as the run, which holds `range` too, and waits
                // for the stream or poisons both.
                unsafe { self.direct().enqueue(device, range.ptr(), bytes, direction)? };
                self.stream.synchronize()
            }
            HostMemory::Pageable(data) => {
                moved.staged += bytes as u64;
                // SAFETY: `device` has room for `bytes` and lives as long as the run; the argument has `bytes`, is borrowed
                // by the run, and mutably if it is written (a `carry` takes `&mut`).
                let done = unsafe { self.direct().staged(device, *data, bytes, direction) };
                done.map_err(|failed| *failed.error)
            }
        }
    }

    fn direct(&self) -> memory::Transfer<'_> {
        memory::Transfer { device: self.device, stream: self.stream }
    }
}
