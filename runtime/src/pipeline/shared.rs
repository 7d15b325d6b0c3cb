//! What the whole run shares: `resident` data, copied in before the first chunk, and what is carried from chunk to chunk,
//! copied in before it and out after the last.

use super::ring::Ring;
use crate::device::Device;
use crate::driver::{DevicePtr, DriverResult};
use crate::memory::{self, Direction, HostMemory, HostSource, NO_OPERATION};
use crate::stream::Stream;

/// One `resident` or `carry` of a call.
pub(super) struct Shared<'a> {
    /// Its index among the plan's buffers.
    pub(super) buffer: usize,
    pub(super) source: HostSource<'a>,
    /// In bytes, of all of it.
    pub(super) bytes: usize,
    /// The bytes of the element it starts from; else it starts from `source`.
    pub(super) init: Option<Vec<u8>>,
    /// Whether `source` gets what is there at the end.
    pub(super) back: bool,
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
        for Shared { buffer, source, bytes, init, .. } in shared {
            let Some((to, _)) = self.ring.slot(*buffer, 0).filter(|&(_, room)| *bytes <= room) else {
                continue;
            };
            match init {
                Some(pattern) => {
                    let count = bytes.checked_div(pattern.len()).unwrap_or(0);
                    // SAFETY: `to` has room for `bytes`, is aligned to 256 bytes, and lives as long as the run; the
                    // stream is waited for below, and by the run's drain if that fails.
                    unsafe { self.device.driver().fill(to, pattern, count, self.stream.raw, NO_OPERATION)? };
                }
                None => self.move_all(to, source, *bytes, Direction::In, &mut moved)?,
            }
        }
        self.stream.synchronize()?;
        Ok(moved)
    }

    /// Gives back what is carried. The device has completed everything.
    pub(super) fn end(&self, shared: &[Shared<'_>]) -> DriverResult<Moved> {
        let mut moved = Moved::default();
        for Shared { buffer, source, bytes, .. } in shared.iter().filter(|shared| shared.back) {
            let Some((from, _)) = self.ring.slot(*buffer, 0).filter(|&(_, room)| *bytes <= room) else {
                continue;
            };
            self.move_all(from, source, *bytes, Direction::Out, &mut moved)?;
        }
        Ok(moved)
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
            HostMemory::Pinned(core) => {
                // SAFETY: `device` has room for `bytes` and lives as long as the run, which holds `core` too, and waits
                // for the stream or poisons both.
                unsafe { self.direct().enqueue(device, core.ptr.as_ptr(), bytes, direction)? };
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
