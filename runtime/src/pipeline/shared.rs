//! What the whole run shares: `resident` data, copied in before the first chunk, and what is carried from chunk to chunk,
//! copied in before it and out after the last.

use super::ring::Ring;
use super::staging;
use crate::device::Device;
use crate::driver::{DevicePtr, DriverResult, Tag};
use crate::memory::{HostMemory, HostSource, PinnedCore};
use crate::stream::Stream;

/// Bytes that pageable data are staged in at a time.
const PIECE: usize = 8 << 20;

/// No operation of the plan: the device's errors then belong to the pipeline as a whole.
const TAG: Tag = Tag { operation: u32::MAX, chunk: 0 };

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
                    unsafe { self.device.driver().fill(to, pattern, count, self.stream.raw, TAG)? };
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
                self.copy(device, core.ptr.as_ptr(), bytes, direction)?;
                self.stream.synchronize()
            }
            HostMemory::Pageable(data) => {
                moved.staged += bytes as u64;
                if bytes == 0 {
                    return Ok(());
                }
                let piece = PinnedCore::new(self.device, bytes.min(PIECE))?;
                let done = self.move_pieces(device, *data, bytes, direction, &piece);
                if done.is_err() {
                    // Whether the device is done with it is not known.
                    piece.poison();
                }
                done
            }
        }
    }

    fn move_pieces(
        &self,
        device: DevicePtr,
        host: *mut u8,
        bytes: usize,
        direction: Direction,
        piece: &PinnedCore,
    ) -> DriverResult<()> {
        for start in (0..bytes).step_by(PIECE) {
            let length = PIECE.min(bytes - start);
            // SAFETY: the argument has `bytes`, and `start` is within.
            let host = unsafe { host.add(start) };
            if direction == Direction::In {
                // SAFETY: the argument is borrowed by the run, the piece has room and is not in use.
                unsafe { staging::copy(piece.ptr.as_ptr(), host, length) };
            }
            self.copy(device.offset(start), piece.ptr.as_ptr(), length, direction)?;
            self.stream.synchronize()?;
            if direction == Direction::Out {
                // SAFETY: the argument is borrowed mutably by the run (a `carry` takes `&mut`), and the copy into the
                // piece has completed.
                unsafe { staging::copy(host, piece.ptr.as_ptr(), length) };
            }
            self.device.driver().host_copied(length);
        }
        Ok(())
    }

    fn copy(&self, device: DevicePtr, host: *mut u8, bytes: usize, direction: Direction) -> DriverResult<()> {
        let (driver, stream) = (self.device.driver(), self.stream.raw);
        // SAFETY: `device` has room for `bytes`, `host` is pinned memory of this device of at least `bytes`; both are
        // held until the stream has been waited for: the caller does so, and poisons the memory if it cannot.
        unsafe {
            match direction {
                Direction::In => driver.copy_to_device(device, host, bytes, stream, TAG),
                Direction::Out => driver.copy_to_host(host, device, bytes, stream, TAG),
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    In,
    Out,
}
