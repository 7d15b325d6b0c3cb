//! [`Operation`]: one operation of one chunk, as the generated code enqueues it.

use bytemuck::Pod;

use super::call::{Buffer, Host};
use super::halo::Window;
use super::run::{Chunk, EventKey, Run};
use super::shape::{BufferPlace, Shape};
use super::staging::{Delivery, Slot};
use super::{explain, place_of};
use crate::device::Device;
use crate::driver::{Access, DevicePtr, DriverResult, RawLaunch, RawStream, Tag};
use crate::error::{DriverError, Error, ErrorKind, Place, Result};
use crate::extent::{Axis, Extent};
use crate::launch::{DeviceSlice, DeviceSliceMut, DeviceSliceOut, Launch};
use crate::memory::{HostMemory, copy};
use crate::plan::{OperationKind, OperationPlan};

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
        self.check(unsafe { self.run.queue().wait(self.stream, event.raw, self.tag()) })
    }

    /// Records an event of this chunk.
    #[inline]
    pub fn record(&self, event: EventKey) -> Result<()> {
        let event = self.run.event(event, self.slot);
        // SAFETY: the stream and the event live as long as the run.
        self.check(unsafe { self.run.queue().record(event.raw, self.stream, self.tag()) })
    }

    /// Copies this chunk of host data to the device, through a pinned slot if it is pageable.
    pub fn upload<T: Pod>(&self, from: Host<T>, to: Buffer<T>) -> Result<()> {
        let shape = self.run.host_shapes[from.index];
        let bytes = shape.items(self.chunk.len) * shape.bytes();
        let to = self.same_size(self.range_to_write(to)?, bytes)?;
        let memory = &self.run.hosts[from.index].memory;
        if shape.halo > 0 {
            self.upload_with_halo(to, memory, shape)?;
        } else {
            let (start, _) = self.host_range(shape);
            match memory {
                HostMemory::Pinned(core) => {
                    // SAFETY: the chunk's items are within the argument (`chunks` are cut from its length).
                    let from = unsafe { core.ptr.as_ptr().add(start) };
                    self.copy_to_device(to, from, bytes)?;
                }
                HostMemory::Pageable(data) => {
                    self.deliver(from.index)?;
                    self.with_slot(bytes, |slot| {
                        // SAFETY: as above; the argument is borrowed by the run, and the slot has room for `bytes` and
                        // is not in use by the device: `with_slot` has waited.
                        unsafe { copy(slot.ptr(), data.add(start), bytes) };
                        self.device().driver().host_copied(bytes);
                        self.copy_to_device(to, slot.ptr(), bytes)?;
                        self.staged(slot, None)
                    })?;
                }
            }
        }
        self.run.totals.borrow_mut().to_device += bytes as u64;
        Ok(())
    }

    /// Likewise with the items around the chunk. Beyond the first and the last item the CPU makes them, in a pinned slot.
    fn upload_with_halo(&self, to: DevicePtr, memory: &HostMemory, shape: Shape) -> Result<()> {
        let window = Window::new(self.chunk, self.run.items(), shape);
        let (before, inside, after) = window.bytes();
        match memory {
            HostMemory::Pageable(data) => self.with_slot(before + inside + after, |slot| {
                // SAFETY: the window's items are within the argument, which the run has borrowed and nothing writes: it
                // is an `input`. The slot has room for all of them and is not in use by the device.
                unsafe {
                    window.make_before(slot.ptr(), *data);
                    copy(slot.ptr().add(before), data.add(window.first_byte()), inside);
                    window.make_after(slot.ptr().add(before + inside), *data);
                }
                self.device().driver().host_copied(before + inside + after);
                self.copy_to_device(to, slot.ptr(), before + inside + after)?;
                self.staged(slot, None)
            }),
            HostMemory::Pinned(core) => {
                let data = core.ptr.as_ptr();
                // SAFETY: the window's items are within the argument.
                let from = unsafe { data.add(window.first_byte()) };
                self.copy_to_device(to.offset(before), from.cast_const(), inside)?;
                if before + after == 0 {
                    return Ok(());
                }
                self.with_slot(before + after, |slot| {
                    // SAFETY: as above.
                    unsafe {
                        window.make_before(slot.ptr(), data);
                        window.make_after(slot.ptr().add(before), data);
                    }
                    self.device().driver().host_copied(before + after);
                    self.copy_to_device(to, slot.ptr(), before)?;
                    // SAFETY: the slot has room for both.
                    let from = unsafe { slot.ptr().add(before) };
                    self.copy_to_device(to.offset(before + inside), from, after)?;
                    self.staged(slot, None)
                })
            }
        }
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
            HostMemory::Pageable(data) => {
                self.deliver_left_over(to.index)?;
                self.with_slot(bytes, |slot| {
                    self.copy_to_host(slot.ptr(), from, bytes)?;
                    // SAFETY: the chunk's items are within the argument.
                    let to = unsafe { data.add(start) };
                    self.staged(slot, Some(Delivery { chunk: self.chunk.index, to, bytes }))
                })?;
            }
        }
        self.run.totals.borrow_mut().to_host += bytes as u64;
        self.run.downloaded(self.index);
        Ok(())
    }

    /// Copies a buffer's chunk to another buffer.
    pub fn copy<T: Pod>(&self, from: Buffer<T>, to: Buffer<T>) -> Result<()> {
        let is_host =
            |buffer: Buffer<T>| matches!(self.run.buffers[buffer.index].place, BufferPlace::HostRing);
        let direction = (is_host(from), is_host(to));
        let (from, bytes) = self.device_range(from)?;
        let to = self.same_size(self.range_to_write(to)?, bytes)?;
        match direction {
            // SAFETY: both ranges are the run's for as long as it lasts; `device_range` has checked them.
            (false, false) => self
                .check(unsafe { self.run.queue().copy_on_device(to, from, bytes, self.stream, self.tag()) }),
            (true, false) => self.copy_to_device(to, from.host().cast_const(), bytes),
            (false, true) => self.copy_to_host(to.host(), from, bytes),
            // Which the macro does not write.
            (true, true) => self.fail(ErrorKind::Skipped),
        }
    }

    /// Sets every element of a buffer's chunk to `value`.
    pub fn fill<T: Pod>(&self, buffer: Buffer<T>, value: T) -> Result<()> {
        let (to, bytes) = self.range_to_write(buffer)?;
        let pattern = bytemuck::bytes_of(&value);
        let count = bytes.checked_div(pattern.len()).unwrap_or(0);
        // SAFETY: the range is a slot of the ring or a chunk of an argument, which live as long as the run; `device_range`
        // has checked it. It begins whole elements after an allocation's start, which is aligned to 256 bytes.
        self.check(unsafe { self.run.queue().fill(to, pattern, count, self.stream, self.tag()) })
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

    /// Whether a launch may touch this memory: it is of the run's own ring or arguments, and so lives as long as the
    /// launch.
    pub(crate) fn owns(&self, access: &Access) -> bool {
        self.run.ring.holds(access) || self.run.in_place.iter().any(|data| data.holds(access))
    }

    /// Whether a host function may: it is page-locked memory as well, and this chunk's. Functions of chunks that nothing
    /// orders are called at the same time.
    pub(super) fn owns_on_host(&self, access: &Access) -> bool {
        let Run { ring, in_place, buffers, .. } = self.run;
        let is_own = buffers.iter().enumerate().any(|(index, buffer)| {
            let part = match buffer.place {
                BufferPlace::HostRing => ring.slot(index, self.slot),
                BufferPlace::InPlace(ptr, _) => {
                    let (start, _) = self.host_range(buffer.shape);
                    Some((ptr.offset(start), buffer.bytes(self.chunk.len)))
                }
                BufferPlace::Ring | BufferPlace::Shared(_) => None,
            };
            part.is_some_and(|(ptr, bytes)| {
                ptr <= access.ptr && access.ptr.offset(access.bytes) <= ptr.offset(bytes)
            })
        });
        let is_on_host = || {
            ring.holds_on_host(access) || in_place.iter().any(|data| data.is_on_host() && data.holds(access))
        };
        is_own && is_on_host()
    }

    /// What the plan says of this operation.
    pub(super) fn plan(&self) -> &'static OperationPlan {
        &self.run.plan.operations[self.index]
    }

    pub(super) fn place(&self) -> Place {
        place_of(self.run.plan, self.index, Some(self.chunk.index as u64))
    }

    /// The stream of what no graph can hold.
    pub(super) fn direct_stream(&self) -> RawStream {
        self.run.direct_stream(self.stream)
    }

    /// Enqueues what no graph can hold: in graph mode, between two graphs.
    pub(super) fn direct(&self, enqueue: impl FnOnce(RawStream) -> DriverResult<()>) -> Result<()> {
        self.run.launch_graph()?;
        let result = self.run.direct(self.stream, enqueue);
        self.check(result)
    }

    /// Enqueues a kernel.
    ///
    /// # Safety
    /// As [`Driver::launch`](crate::driver::Driver::launch).
    pub(crate) unsafe fn launch(&self, launch: RawLaunch<'_>) -> Result<()> {
        // SAFETY: the caller's promise; the stream lives as long as the run.
        self.check(unsafe { self.run.queue().launch(launch, self.stream, self.tag()) })
    }

    pub(super) fn tag(&self) -> Tag {
        Tag { operation: self.index as u32, chunk: self.chunk.index as u64 }
    }

    /// An error of this operation, after which nothing more is enqueued.
    pub(crate) fn fail<T>(&self, kind: ErrorKind) -> Result<T> {
        if let Some(error) = self.run.refused() {
            return Err(error);
        }
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
        if shape.per_chunk {
            return (self.chunk.index * shape.bytes(), shape.bytes());
        }
        (self.chunk.start * shape.bytes(), self.chunk.len * shape.bytes())
    }

    /// This chunk's slot of a buffer: its address and the bytes in use.
    fn device_range<T>(&self, buffer: Buffer<T>) -> Result<(DevicePtr, usize)> {
        let shape = self.run.buffers[buffer.index];
        let bytes = shape.bytes(self.chunk.len);
        let slot = match shape.place {
            BufferPlace::Shared(_) => self.run.ring.slot(buffer.index, 0),
            BufferPlace::Ring | BufferPlace::HostRing => self.run.ring.slot(buffer.index, self.slot),
            BufferPlace::InPlace(ptr, all) => {
                let (start, _) = self.host_range(shape.shape);
                all.checked_sub(start).map(|room| (ptr.offset(start), room))
            }
        };
        match slot {
            Some((ptr, room)) if bytes <= room && self.run.in_order() => Ok((ptr, bytes)),
            _ => self.fail(ErrorKind::Skipped),
        }
    }

    /// As [`device_range`](Self::device_range), unless it is of an argument that was borrowed shared.
    fn range_to_write<T>(&self, buffer: Buffer<T>) -> Result<(DevicePtr, usize)> {
        let (ptr, bytes) = self.device_range(buffer)?;
        let is_argument = matches!(self.run.buffers[buffer.index].place, BufferPlace::InPlace(..));
        if is_argument && !self.owns(&Access { ptr, bytes, write: true }) {
            return self.fail(ErrorKind::Skipped);
        }
        Ok((ptr, bytes))
    }

    /// Both sides of a copy have this many bytes: `Call` has compared their items, this compares the chunk.
    fn same_size(&self, (ptr, have): (DevicePtr, usize), bytes: usize) -> Result<DevicePtr> {
        if have == bytes { Ok(ptr) } else { self.fail(ErrorKind::Skipped) }
    }

    /// Likewise in elements, for a launch. A buffer of another call, whose elements may be of another type, gives none, and
    /// the launch is refused.
    pub(super) fn elements<T>(&self, buffer: Buffer<T>) -> (DevicePtr, usize) {
        let shape = self.run.buffers[buffer.index];
        match self.device_range(buffer) {
            Ok((ptr, _)) if shape.shape.element == size_of::<T>() && ptr.is_aligned::<T>() => {
                (ptr, shape.len(self.chunk.len))
            }
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
        let is_earlier = |operation: &OperationPlan| matches!(operation.kind, OperationKind::Download { host: to, .. } if to == host);
        if self.run.plan.operations[..self.index].iter().any(is_earlier) {
            // What is waited for must be under way.
            self.run.launch_graph()?;
        }
        let mut staging = self.run.staging.borrow_mut();
        for (index, earlier) in self.run.plan.operations.iter().enumerate().take(self.index) {
            if is_earlier(earlier)
                && let Some(slot) = staging.slot(index, self.slot)
            {
                let delivered = self.run.settle(slot, self.slot).map_err(|error| self.failed(error))?;
                self.run.totals.borrow_mut().arrived[index] += usize::from(delivered);
            }
        }
        Ok(())
    }

    /// Delivers what operations before this one have copied to the same pageable data in an earlier chunk, and have left in
    /// their slots because this chunk leaves them out: what this one has copied for that chunk comes after it.
    fn deliver_left_over(&self, host: usize) -> Result<()> {
        let mut staging = self.run.staging.borrow_mut();
        for (index, earlier) in self.run.plan.operations[..self.index].iter().enumerate() {
            if earlier.conditional
                && matches!(earlier.kind, OperationKind::Download { host: to, .. } if to == host)
                && let Some(slot) = staging.slot(index, self.slot)
                && slot.owes_before(self.chunk.index)
            {
                let delivered = self.run.settle(slot, self.slot).map_err(|error| self.failed(error))?;
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
        match self.run.settle(slot, self.slot) {
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
        if self.run.stages_later(self.index, self.slot, delivery) {
            return Ok(());
        }
        // SAFETY: the stream and the slot's event live as long as the run.
        let recorded = unsafe { self.device().driver().record(slot.done().raw, self.stream, self.tag()) };
        // Without the record nothing tells when the slot may be read: what is in it is lost with the run.
        slot.enqueued(if recorded.is_ok() { delivery } else { None });
        self.check(recorded)
    }

    fn copy_to_device(&self, to: DevicePtr, from: *const u8, bytes: usize) -> Result<()> {
        // SAFETY: `to` is this chunk's slot of the ring and `from` pinned memory of this device, both of `bytes`; the
        // run holds them until it has drained, and poisons them if it cannot.
        self.check(unsafe { self.run.queue().copy_to_device(to, from, bytes, self.stream, self.tag()) })
    }

    fn copy_to_host(&self, to: *mut u8, from: DevicePtr, bytes: usize) -> Result<()> {
        // SAFETY: as in `copy_to_device`. The CPU does not read `to` before the copy is done: it is the caller's
        // argument, borrowed mutably by the run, or a slot that is settled first.
        self.check(unsafe { self.run.queue().copy_to_host(to, from, bytes, self.stream, self.tag()) })
    }
}

impl std::fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of chunk {}", self.run.plan.operations[self.index].text, self.chunk.index)
    }
}
