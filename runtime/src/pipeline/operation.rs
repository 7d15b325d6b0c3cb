//! [`Operation`]: one operation of one chunk, as the generated code enqueues it.

use bytemuck::Pod;

use super::call::{Buffer, Host};
use super::run::{Chunk, EventKey, Run};
use super::shape::Shape;
use super::staging::{self, Delivery, Slot};
use super::{explain, place_of};
use crate::device::Device;
use crate::driver::{Access, DevicePtr, DriverResult, RawStream, Tag};
use crate::error::{DriverError, Error, ErrorKind, Result};
use crate::extent::{Axis, Extent};
use crate::launch::{DeviceSlice, DeviceSliceMut, DeviceSliceOut, Launch};
use crate::memory::HostMemory;
use crate::plan::OperationKind;

/// One operation of one chunk.
#[derive(Clone, Copy)]
pub struct Operation<'r> {
    pub(super) run: &'r Run<'r>,
    /// Index into the plan's operations.
    pub(super) index: usize,
    pub(super) chunk: Chunk,
    /// The ring slot of the chunk.
    pub(super) slot: usize,
    pub(super) stream: RawStream,
}

impl<'r> Operation<'r> {
    /// Makes the stream wait for an event of this chunk.
    #[inline]
    pub fn wait(&self, event: EventKey) -> Result<()> {
        self.wait_for(event, self.slot)
    }

    /// Makes the stream wait for an event of the chunk that used this ring slot last.
    #[inline]
    pub fn wait_reuse(&self, event: EventKey) -> Result<()> {
        // The first chunks use fresh slots: there is nothing to wait for.
        if self.chunk.index < self.run.depth { Ok(()) } else { self.wait_for(event, self.slot) }
    }

    /// Makes the stream wait for an event of the chunk before.
    #[inline]
    pub fn wait_previous(&self, event: EventKey) -> Result<()> {
        match self.chunk.index.checked_sub(1) {
            Some(previous) => self.wait_for(event, previous % self.run.depth),
            None => Ok(()),
        }
    }

    fn wait_for(&self, event: EventKey, slot: usize) -> Result<()> {
        let event = self.run.event(event, slot);
        // SAFETY: the stream and the event live as long as the run.
        self.check(unsafe { self.device().driver().wait(self.stream, event.raw, self.tag()) })
    }

    /// Records an event of this chunk.
    #[inline]
    pub fn record(&self, event: EventKey) -> Result<()> {
        let event = self.run.event(event, self.slot);
        // SAFETY: the stream and the event live as long as the run.
        self.check(unsafe { self.device().driver().record(event.raw, self.stream, self.tag()) })
    }

    /// Copies this chunk of host data to the device, through a pinned slot if it is pageable.
    pub fn upload<T: Pod>(&self, from: Host<T>, to: Buffer<T>) -> Result<()> {
        let shape = self.run.host_shapes[from.index];
        let (start, bytes) = self.host_range(shape);
        let to = self.same_size(self.device_range(to)?, bytes)?;
        match &self.run.hosts[from.index].memory {
            HostMemory::Pinned(core) => {
                // SAFETY: the chunk's items are within the argument (`chunks` are cut from its length).
                let from = unsafe { core.ptr.as_ptr().add(start) };
                self.copy_to_device(to, from, bytes)?;
            }
            HostMemory::Pageable(data) => {
                self.deliver(from.index)?;
                self.with_slot(bytes, |slot| {
                    // SAFETY: as above; the argument is borrowed by the run, and the slot has room for `bytes` and is
                    // not in use by the device: `with_slot` has waited.
                    unsafe { staging::copy(slot.ptr(), data.add(start), bytes) };
                    self.device().driver().host_copied(bytes);
                    self.copy_to_device(to, slot.ptr(), bytes)?;
                    self.staged(slot, None)
                })?;
            }
        }
        self.run.totals.borrow_mut().to_device += bytes as u64;
        Ok(())
    }

    /// Copies a buffer's chunk to the host, through a pinned slot if the host data is pageable.
    pub fn download<T: Pod>(&self, from: Buffer<T>, to: Host<T>) -> Result<()> {
        let shape = self.run.host_shapes[to.index];
        if !self.run.hosts[to.index].writable {
            return self.fail(ErrorKind::Skipped);
        }
        let (start, bytes) = self.host_range(shape);
        let from = self.same_size(self.device_range(from)?, bytes)?;
        match &self.run.hosts[to.index].memory {
            HostMemory::Pinned(core) => {
                // SAFETY: the chunk's items are within the argument.
                let to = unsafe { core.ptr.as_ptr().add(start) };
                self.copy_to_host(to, from, bytes)?;
            }
            HostMemory::Pageable(data) => self.with_slot(bytes, |slot| {
                self.copy_to_host(slot.ptr(), from, bytes)?;
                // SAFETY: the chunk's items are within the argument.
                let to = unsafe { data.add(start) };
                self.staged(slot, Some(Delivery { to, bytes }))
            })?,
        }
        let mut totals = self.run.totals.borrow_mut();
        totals.to_host += bytes as u64;
        totals.enqueued[self.index] += 1;
        Ok(())
    }

    /// Copies a buffer's chunk to another buffer.
    pub fn copy<T: Pod>(&self, from: Buffer<T>, to: Buffer<T>) -> Result<()> {
        let (from, bytes) = self.device_range(from)?;
        let to = self.same_size(self.device_range(to)?, bytes)?;
        // SAFETY: both ranges are slots of the ring, which lives as long as the run; `device_range` has checked them.
        self.check(unsafe { self.device().driver().copy_on_device(to, from, bytes, self.stream, self.tag()) })
    }

    /// Sets every element of a buffer's chunk to `value`.
    pub fn fill<T: Pod>(&self, buffer: Buffer<T>, value: T) -> Result<()> {
        let (to, bytes) = self.device_range(buffer)?;
        let pattern = bytemuck::bytes_of(&value);
        let count = bytes.checked_div(pattern.len()).unwrap_or(0);
        // SAFETY: the range is a slot of the ring, aligned to 256 bytes, which lives as long as the run;
        // `device_range` has checked it.
        self.check(unsafe { self.device().driver().fill(to, pattern, count, self.stream, self.tag()) })
    }

    /// A launch's `&buffer`.
    #[inline]
    pub fn read<T: Pod>(&self, buffer: Buffer<T>) -> DeviceSlice<'r, T> {
        let (ptr, len) = self.elements(buffer);
        DeviceSlice::new(ptr, len)
    }

    /// A launch's `&mut buffer`.
    #[inline]
    pub fn read_write<T: Pod>(&self, buffer: Buffer<T>) -> DeviceSliceMut<'r, T> {
        let (ptr, len) = self.elements(buffer);
        DeviceSliceMut::new(ptr, len)
    }

    /// A launch's `out buffer`.
    #[inline]
    pub fn write<T: Pod>(&self, buffer: Buffer<T>) -> DeviceSliceOut<'r, T> {
        let (ptr, len) = self.elements(buffer);
        DeviceSliceOut::new(ptr, len)
    }

    /// A launch's `<<<grid, block, shared>>>`.
    #[inline]
    pub fn config(&self, grid: impl Extent, block: impl Extent, shared: impl Axis) -> Launch<'r> {
        Launch { operation: *self, grid: grid.extent(), block: block.extent(), shared: shared.axis() }
    }

    pub(crate) fn device(&self) -> &'r Device {
        self.run.device
    }

    /// Whether the run is as the plan has it so far.
    pub(crate) fn in_order(&self) -> bool {
        self.run.in_order()
    }

    /// Whether a launch may touch this memory: it is of the run's own ring, and so lives as long as the launch.
    pub(crate) fn owns(&self, access: &Access) -> bool {
        self.run.ring.holds(access)
    }

    pub(crate) fn raw_stream(&self) -> RawStream {
        self.stream
    }

    pub(crate) fn tag(&self) -> Tag {
        Tag { operation: self.index as u32, chunk: self.chunk.index as u64 }
    }

    /// An error of this operation, after which nothing more is enqueued.
    pub(crate) fn fail<T>(&self, kind: ErrorKind) -> Result<T> {
        self.run.refuse();
        let chunk = Some(self.chunk.index as u64);
        Err(Error::new(kind).at(place_of(self.run.plan, self.index, chunk)))
    }

    /// A driver's answer, with this operation's place where the failure is its own.
    #[inline]
    pub(crate) fn check(&self, result: DriverResult<()>) -> Result<()> {
        match result {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }

    #[cold]
    fn failed(&self, error: DriverError) -> Error {
        self.run.refuse();
        if error.tag.is_none() && !error.is_asynchronous() {
            let chunk = Some(self.chunk.index as u64);
            Error::from(error).at(place_of(self.run.plan, self.index, chunk))
        } else {
            explain(self.run.plan, error)
        }
    }

    /// This chunk's part of a host argument: its first byte and its bytes.
    fn host_range(&self, shape: Shape) -> (usize, usize) {
        (self.chunk.start * shape.bytes(), self.chunk.len * shape.bytes())
    }

    /// This chunk's slot of a buffer: its address and the bytes in use.
    fn device_range<T>(&self, buffer: Buffer<T>) -> Result<(DevicePtr, usize)> {
        let shape = self.run.buffers[buffer.index];
        let bytes = shape.bytes(self.chunk.len);
        let slot = if shape.shared.is_some() { 0 } else { self.slot };
        match self.run.ring.slot(buffer.index, slot) {
            Some((ptr, room)) if bytes <= room && self.run.in_order() => Ok((ptr, bytes)),
            _ => self.fail(ErrorKind::Skipped),
        }
    }

    /// Both sides of a copy have this many bytes: `Call` has compared their items, this compares the chunk.
    fn same_size(&self, (ptr, have): (DevicePtr, usize), bytes: usize) -> Result<DevicePtr> {
        if have == bytes { Ok(ptr) } else { self.fail(ErrorKind::Skipped) }
    }

    /// Likewise in elements, for a launch. A buffer of another call gives none, and the launch is refused.
    fn elements<T>(&self, buffer: Buffer<T>) -> (DevicePtr, usize) {
        let shape = self.run.buffers[buffer.index];
        match self.device_range(buffer) {
            Ok((ptr, _)) if shape.shape.element == size_of::<T>() => (ptr, shape.len(self.chunk.len)),
            _ => {
                self.run.refuse();
                (DevicePtr(0), 0)
            }
        }
    }

    /// Waits until what earlier operations of this chunk copy to pageable data is there. The CPU is about to read it, and
    /// the events that order the device's copies are nothing to the CPU.
    fn deliver(&self, host: usize) -> Result<()> {
        if !self.run.hosts[host].writable {
            return Ok(());
        }
        let mut staging = self.run.staging.borrow_mut();
        for (index, earlier) in self.run.plan.operations.iter().enumerate().take(self.index) {
            if matches!(earlier.kind, OperationKind::Download { host: to, .. } if to == host)
                && let Some(slot) = staging.slot(index, self.slot)
            {
                let delivered = slot.settle(self.device()).map_err(|error| self.failed(error))?;
                self.run.totals.borrow_mut().arrived[index] += usize::from(delivered);
            }
        }
        Ok(())
    }

    /// Hands `enqueue` this operation's staging slot once the device is done with it.
    fn with_slot(&self, bytes: usize, enqueue: impl FnOnce(&mut Slot) -> Result<()>) -> Result<()> {
        let mut staging = self.run.staging.borrow_mut();
        let Some(slot) = staging.slot(self.index, self.slot).filter(|slot| slot.bytes() >= bytes) else {
            return self.fail(ErrorKind::Skipped);
        };
        match slot.settle(self.device()) {
            Ok(delivered) => {
                let mut totals = self.run.totals.borrow_mut();
                totals.staged += bytes as u64;
                if delivered {
                    totals.arrived[self.index] += 1;
                }
            }
            Err(error) => return Err(self.failed(error)),
        }
        enqueue(slot)
    }

    /// The device's copy from or to `slot` is enqueued: marks where it is done.
    fn staged(&self, slot: &mut Slot, delivery: Option<Delivery>) -> Result<()> {
        // SAFETY: the stream and the slot's event live as long as the run.
        let recorded = unsafe { self.device().driver().record(slot.done().raw, self.stream, self.tag()) };
        // Without the record nothing tells when the slot may be read: what is in it is lost with the run.
        slot.enqueued(if recorded.is_ok() { delivery } else { None });
        self.check(recorded)
    }

    fn copy_to_device(&self, to: DevicePtr, from: *const u8, bytes: usize) -> Result<()> {
        // SAFETY: `to` is this chunk's slot of the ring and `from` pinned memory of this device, both of `bytes`; the
        // run holds them until it has drained, and poisons them if it cannot.
        self.check(unsafe { self.device().driver().copy_to_device(to, from, bytes, self.stream, self.tag()) })
    }

    fn copy_to_host(&self, to: *mut u8, from: DevicePtr, bytes: usize) -> Result<()> {
        // SAFETY: as in `copy_to_device`. The CPU does not read `to` before the copy is done: it is the caller's
        // argument, borrowed mutably by the run, or a slot that is settled first.
        self.check(unsafe { self.device().driver().copy_to_host(to, from, bytes, self.stream, self.tag()) })
    }
}

impl std::fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of chunk {}", self.run.plan.operations[self.index].text, self.chunk.index)
    }
}
