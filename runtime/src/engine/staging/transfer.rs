//! [`Transfer`]: copies the data that the whole run shares in before the first chunk, and carried data out
//! after the last.

use crate::base::error::DriverError;
use crate::device::Device;
use crate::device::memory::{self, Direction, NO_OPERATION};
use crate::device::stream::Stream;
use crate::driver::{Command, DevicePtr, DriverResult};
use crate::engine::arguments::shared::{Data, Moved, Shared};
use crate::engine::arguments::{HostMemory, HostSource};
use crate::engine::staging::ring::Ring;

/// The place of the transfers, which run with nothing else under way.
pub(crate) struct Transfer<'r> {
    pub(crate) device: &'r Device,
    pub(crate) stream: &'r Stream,
    pub(crate) ring: &'r Ring,
}

impl Transfer<'_> {
    /// Copies the initial contents to every shared buffer, and waits for the copies.
    pub(crate) fn begin(&self, shared: &[Shared<'_>]) -> DriverResult<Moved> {
        let mut moved = Moved::default();
        for shared in shared {
            if let Some(before) = shared.moved {
                moved += before;
                continue;
            }
            match (&shared.init, &shared.data) {
                (Some(pattern), _) => {
                    let count = shared.bytes.checked_div(pattern.len()).unwrap_or(0);
                    for to in self.places(shared) {
                        // SAFETY: `to` has room for the bytes, is aligned to 256 bytes, and lives as long as the
                        // run; the stream is waited for below, and by the run's drain if that fails.
                        unsafe {
                            let fill = Command::Fill { to, pattern, count };
                            self.device.driver().enqueue(fill, self.stream.raw, NO_OPERATION)?;
                        }
                    }
                }
                (None, Data::Host { source, .. }) => {
                    if let Some(to) = self.place(shared) {
                        self.move_all(to, source, shared.bytes, Direction::In, &mut moved)?;
                    }
                }
                // A partial result begins with an element.
                (None, Data::Partial(_) | Data::Device(_)) => {}
            }
        }
        self.stream.synchronize()?;
        Ok(moved)
    }

    /// Gives carried data back. The device has completed everything.
    pub(crate) fn end(&self, shared: &mut [Shared<'_>]) -> DriverResult<Moved> {
        let mut moved = Moved::default();
        for shared in shared {
            let (places, bytes): (Vec<_>, _) = (self.places(shared).collect(), shared.bytes);
            match &mut shared.data {
                Data::Host { source, carried: true } => {
                    for from in places {
                        self.move_all(from, source, bytes, Direction::Out, &mut moved)?;
                    }
                }
                Data::Partial(partial) => {
                    let all = bytes.saturating_mul(places.len());
                    if partial.try_reserve_exact(all).is_err() {
                        return Err(no_memory_for_parts(all));
                    }
                    partial.resize(all, 0);
                    self.stage(&places, partial.as_mut_ptr(), bytes, Direction::Out, &mut moved)?;
                }
                Data::Host { carried: false, .. } | Data::Device(_) => {}
            }
        }
        Ok(moved)
    }

    /// Its location on the device, with room for all of it; the first one, if each ring slot has a part.
    pub(crate) fn place(&self, shared: &Shared<'_>) -> Option<DevicePtr> {
        self.places(shared).next()
    }

    /// Its locations: one, or one for each ring slot.
    fn places(&self, shared: &Shared<'_>) -> impl Iterator<Item = DevicePtr> {
        let (buffer, bytes) = (shared.buffer, shared.bytes);
        let in_ring = move |slot| self.ring.slot(buffer, slot).filter(|(_, room)| bytes <= *room);
        let (argument, slots) = match shared.data {
            Data::Device(ptr) => (Some(ptr), 0),
            Data::Host { .. } | Data::Partial(_) => (None, usize::MAX),
        };
        argument.into_iter().chain((0..slots).map_while(in_ring).map(|(ptr, _)| ptr))
    }

    /// Copies all of an argument, and waits for that.
    pub(crate) fn move_all(
        &self,
        device: DevicePtr,
        host: &HostSource<'_>,
        bytes: usize,
        direction: Direction,
        moved: &mut Moved,
    ) -> DriverResult<()> {
        match &host.memory {
            HostMemory::Pinned(range) => {
                moved.bytes += bytes as u64;
                // SAFETY: `device` has room for `bytes` and lives as long as the run, which holds `range`
                // too, and waits for the stream or poisons both.
                unsafe { self.direct().enqueue(device, range.ptr(), bytes, direction)? };
                self.stream.synchronize()
            }
            // The check of shared arguments has refused this.
            HostMemory::Streamed => Ok(()),
            HostMemory::Pageable(data) => self.stage(&[device], *data, bytes, direction, moved),
        }
    }

    /// Copies parts of pageable memory, of so many bytes each, and waits for that.
    fn stage(
        &self,
        parts: &[DevicePtr],
        host: *mut u8,
        bytes: usize,
        direction: Direction,
        moved: &mut Moved,
    ) -> DriverResult<()> {
        moved.bytes += (parts.len() * bytes) as u64;
        moved.staged += (parts.len() * bytes) as u64;
        // SAFETY: each part has room for `bytes` and lives as long as the run; the argument, or the partial results,
        // have `bytes` for each, are borrowed by the run, and mutably if they are written (a `carry` takes `&mut`).
        let done = unsafe { self.direct().staged_each(parts, host, bytes, direction) };
        done.map_err(|failed| failed.error)
    }

    fn direct(&self) -> memory::Transfer<'_> {
        memory::Transfer { device: self.device, stream: self.stream }
    }
}

/// The host has no memory for what slots or devices have of a result, so many bytes.
fn no_memory_for_parts(bytes: usize) -> Box<DriverError> {
    let description = format!("the parts of a result need {bytes} bytes of the host's memory");
    DriverError::new("malloc", 2, "CUDA_ERROR_OUT_OF_MEMORY", description)
}
