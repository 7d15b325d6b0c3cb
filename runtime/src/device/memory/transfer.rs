//! Copies between host and device that are waited for.

use super::PinnedCore;
use crate::base::error::DriverError;
use crate::base::host_copy::Way;
use crate::device::Device;
use crate::device::stream::Stream;
use crate::driver::{Command, DevicePtr, DriverResult, Tag};

/// Bytes that pageable data are staged in at a time.
const PIECE: usize = 8 << 20;

/// No operation of a plan: the device's errors then belong to the pipeline as a whole, or to none.
pub(crate) const NO_OPERATION: Tag = Tag { pipeline: 0, operation: u32::MAX, chunk: 0 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
}

/// The stream of a transfer, with nothing else under way on it.
pub(crate) struct Transfer<'r> {
    pub(crate) device: &'r Device,
    pub(crate) stream: &'r Stream,
}

/// A transfer that has failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: Box<DriverError>,
    /// Whether the device could still be waited for, so that nothing is in flight.
    pub(crate) drained: bool,
    /// The bytes of page-locked memory to copy through, if these could not be allocated.
    pub(crate) no_pinned: Option<usize>,
}

impl Transfer<'_> {
    /// Moves pageable data through page-locked memory, piece by piece. On return the device has completed
    /// everything, or the error says that it has not.
    ///
    /// # Safety
    /// `device` has room for `bytes` and is not freed unless the stream is drained. `host` is valid for reads
    /// of `bytes`, and for writes on the way out, where nothing else accesses it.
    pub(crate) unsafe fn staged(
        &self,
        device: DevicePtr,
        host: *mut u8,
        bytes: usize,
        direction: Direction,
    ) -> Result<(), Failed> {
        // SAFETY: the caller's promise.
        unsafe { self.staged_each(&[device], host, bytes, direction) }
    }

    /// The same for several parts of so many bytes, which lie one after another in `host`.
    ///
    /// # Safety
    /// As [`staged`](Self::staged), of each part.
    pub(crate) unsafe fn staged_each(
        &self,
        parts: &[DevicePtr],
        host: *mut u8,
        bytes: usize,
        direction: Direction,
    ) -> Result<(), Failed> {
        if bytes == 0 {
            return Ok(());
        }
        let room = bytes.min(PIECE);
        let piece = PinnedCore::new(self.device, room).map_err(|error| {
            let no_pinned = error.is_out_of_memory().then_some(room);
            // Nothing is enqueued yet.
            Failed { error, drained: true, no_pinned }
        })?;
        let one = |(number, part): (usize, &DevicePtr)| {
            // SAFETY: the caller's promise: `host` has room for all parts.
            unsafe { self.pieces(*part, host.add(number * bytes), bytes, direction, &piece) }
        };
        let done = parts.iter().enumerate().try_for_each(one);
        let done = self.drained_if_failed(done);
        if done.as_ref().is_err_and(|failed| !failed.drained) {
            piece.poison();
        }
        done
    }

    /// Waits for whatever a failed call has left on the stream.
    pub(crate) fn drained_if_failed(&self, done: DriverResult<()>) -> Result<(), Failed> {
        done.map_err(|error| {
            // The first wait may report the failure. If the second succeeds, nothing is in flight.
            let drained = self.stream.synchronize().is_ok() || self.stream.synchronize().is_ok();
            Failed { error, drained, no_pinned: None }
        })
    }

    /// # Safety
    /// As [`staged`](Self::staged).
    unsafe fn pieces(
        &self,
        device: DevicePtr,
        host: *mut u8,
        bytes: usize,
        direction: Direction,
        piece: &PinnedCore,
    ) -> DriverResult<()> {
        let workers = self.device.copy_workers();
        for start in (0..bytes).step_by(PIECE) {
            let length = PIECE.min(bytes - start);
            // SAFETY: `host` is `bytes` long, and `start` is within.
            let host = unsafe { host.add(start) };
            if direction == Direction::In {
                // SAFETY: `host` may be read, the piece has room and is not in use.
                unsafe { workers.copy(piece.ptr.as_ptr(), host, length, Way::Cached) };
            }
            // SAFETY: `device` has room, and so has the piece. The caller of `pieces` keeps it if this cannot
            // be waited for.
            unsafe { self.enqueue(device.offset(start), piece.ptr.as_ptr(), length, direction)? };
            self.stream.synchronize()?;
            if direction == Direction::Out {
                // SAFETY: `host` may be written, and the copy into the piece has completed.
                unsafe { workers.copy(host, piece.ptr.as_ptr(), length, Way::PastCache) };
            }
            self.device.driver().host_copied(length);
        }
        Ok(())
    }

    /// Enqueues one copy.
    ///
    /// # Safety
    /// `device` has room for `bytes`, and `host` is page-locked memory of this device of at least `bytes`.
    /// Both stay untouched until the stream has been waited for.
    pub(crate) unsafe fn enqueue(
        &self,
        device: DevicePtr,
        host: *mut u8,
        bytes: usize,
        direction: Direction,
    ) -> DriverResult<()> {
        let (driver, stream) = (self.device.driver(), self.stream.raw);
        // SAFETY: the caller's promise.
        unsafe {
            match direction {
                Direction::In => {
                    let from = host.cast_const();
                    driver.enqueue(Command::CopyToDevice { to: device, from, bytes }, stream, NO_OPERATION)
                }
                Direction::Out => driver.enqueue(
                    Command::CopyToHost { to: host, from: device, bytes },
                    stream,
                    NO_OPERATION,
                ),
            }
        }
    }
}
