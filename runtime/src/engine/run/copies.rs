//! Copies of an operation: between the host and the device, directly or through staging slots, and on the
//! device.

use bytemuck::Pod;

use crate::base::error::{Detail, Result};
use crate::base::host_copy::Way;
use crate::base::plan::{OperationKind, OperationPlan};
use crate::driver::{Command, DevicePtr};
use crate::engine::arguments::handles::{Buffer, Host};
use crate::engine::arguments::shape::{BufferPlace, Shape};
use crate::engine::arguments::{HostArgument, HostMemory};
use crate::engine::chunks::window::Window;
use crate::engine::run::operation::Operation;
use crate::engine::run::resources::Taken;
use crate::engine::staging::Staging;
use crate::engine::staging::slot::{Delivery, Slot};
use crate::engine::targets::what::HostPart;
use crate::observe::timeline::Engine;

impl Operation<'_> {
    /// Copies this chunk of host data to the device, through a staging slot if it is pageable.
    pub fn upload<T: Pod>(&self, from: Host<T>, to: Buffer<T>) -> Result<()> {
        let _seen = self.seen();
        if self.is_same(from.index, to.index) {
            return self.leave_out();
        }
        let HostArgument { source, shape } = &self.run.arguments.hosts[from.index];
        let bytes = shape.items(self.chunk.len) * shape.bytes();
        let (start, _) = self.host_range(*shape);
        let to = self.same_size(self.range_to_write(to)?, bytes)?;
        match &source.memory {
            memory if shape.halo > 0 => self.upload_with_halo(to, memory, *shape)?,
            HostMemory::Pinned(range) => {
                // SAFETY: the chunk's items are within the argument (`chunks` are cut from its length).
                let from = unsafe { range.ptr().add(start) };
                self.copy_to_device(to, from, bytes)?;
            }
            HostMemory::Streamed => {
                self.stage(Engine::ToDevice, bytes, || self.upload_streamed(to, bytes))?
            }
            HostMemory::Pageable(data) => self.stage(Engine::ToDevice, bytes, || {
                self.deliver(from.index)?;
                // SAFETY: as above.
                self.upload_pageable(to, unsafe { data.add(start) }, bytes)
            })?,
        }
        self.run.taken.totals.borrow_mut().to_device += bytes as u64;
        Ok(())
    }

    /// Copies this chunk and the items around it to the device. The CPU makes the items beyond the first and
    /// the last one in a staging slot.
    fn upload_with_halo(&self, to: DevicePtr, memory: &HostMemory, shape: Shape) -> Result<()> {
        let window = Window::new(self.chunk, self.run.items(), shape);
        let (before, inside, after) = window.bytes();
        match memory {
            // This is refused before anything runs.
            HostMemory::Streamed => self.fail(Detail::Skipped),
            HostMemory::Pageable(data) => {
                let bytes = before + inside + after;
                self.stage_in_slot(Engine::ToDevice, bytes, |slot| {
                    // SAFETY: the window's items are within the argument, which the run has borrowed and
                    // nothing writes: it is an `input`. The slot has room for all of them and is not in use
                    // by the device.
                    unsafe {
                        window.make_before(slot.ptr(), *data);
                        let (to, from) = (slot.ptr().add(before), data.add(window.first_byte()));
                        slot.workers().copy(to, from, inside, Way::Cached);
                        window.make_after(slot.ptr().add(before + inside), *data);
                    }
                    self.device().driver().host_copied(bytes);
                    self.copy_to_device(to, slot.ptr(), bytes)?;
                    self.mark(slot, None)
                })
            }
            HostMemory::Pinned(range) => {
                let data = range.ptr();
                // SAFETY: the window's items are within the argument.
                let from = unsafe { data.add(window.first_byte()) };
                self.copy_to_device(to.offset(before), from.cast_const(), inside)?;
                if before + after == 0 {
                    return Ok(());
                }
                self.stage_in_slot(Engine::ToDevice, before + after, |slot| {
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
                    self.mark(slot, None)
                })
            }
        }
    }

    /// Copies a buffer's chunk to the host, through a staging slot if the host data is pageable.
    pub fn download<T: Pod>(&self, from: Buffer<T>, to: Host<T>) -> Result<()> {
        let _seen = self.seen();
        let shape = self.run.arguments.hosts[to.index].shape;
        if !self.run.arguments.hosts[to.index].source.writable {
            return self.fail(Detail::Skipped);
        }
        if self.is_same(to.index, from.index) {
            self.leave_out()?;
            let Taken { staging, totals, .. } = self.run.taken;
            let (mut staging, mut totals) = (staging.borrow_mut(), totals.borrow_mut());
            // The chunk has arrived as soon as its stream gets here.
            self.run.target.downloaded(self.index, None, (&mut staging, &mut totals));
            return Ok(());
        }
        let (start, bytes) = self.host_range(shape);
        let from = self.same_size(self.device_range(from)?, bytes)?;
        let mut due = None;
        match &self.run.arguments.hosts[to.index].source.memory {
            HostMemory::Pinned(range) => {
                // SAFETY: the chunk's items are within the argument.
                let to = unsafe { range.ptr().add(start) };
                self.copy_to_host(to, from, bytes)?;
            }
            memory @ (HostMemory::Pageable(_) | HostMemory::Streamed) => {
                self.stage(Engine::ToHost, bytes, || {
                    self.deliver_left_over(to.index)?;
                    self.run.read_next().map_err(|error| self.failed(error))?;
                    self.with_slot(bytes, |slot| {
                        let delivery = match memory {
                            // SAFETY: the chunk's items are within the argument, which the run has borrowed
                            // mutably.
                            HostMemory::Pageable(data) => unsafe {
                                slot.expect(self.turn, data.add(start), bytes)
                            },
                            _ => slot.expect_for_sink(self.turn, self.chunk, bytes),
                        };
                        self.copy_to_host(slot.ptr(), from, bytes)?;
                        self.mark(slot, Some(delivery))
                    })
                })?;
                due = Some((self.slot, self.turn));
            }
        }
        let Taken { staging, totals, .. } = self.run.taken;
        let (mut staging, mut totals) = (staging.borrow_mut(), totals.borrow_mut());
        totals.to_host += bytes as u64;
        self.run.target.downloaded(self.index, due, (&mut staging, &mut totals));
        Ok(())
    }

    /// A copy between an argument and a buffer that is this argument. The waits and the record around it remain.
    fn leave_out(&self) -> Result<()> {
        if self.in_order() { Ok(()) } else { self.fail(Detail::Skipped) }
    }

    /// Copies a buffer's chunk to another buffer.
    pub fn copy<T: Pod>(&self, from: Buffer<T>, to: Buffer<T>) -> Result<()> {
        let _seen = self.seen();
        let is_host = |buffer: Buffer<T>| {
            matches!(self.run.arguments.buffers[buffer.index].place, BufferPlace::HostRing)
        };
        let direction = (is_host(from), is_host(to));
        let (from, bytes) = self.device_range(from)?;
        let to = self.same_size(self.range_to_write(to)?, bytes)?;
        match direction {
            // SAFETY: both ranges are the run's for as long as it lasts; `device_range` has checked them.
            (false, false) => unsafe {
                self.enqueue_command(Command::CopyOnDevice { to, from, bytes }, None)
            },
            (true, false) => {
                self.copy_to_device(to, from.host().cast_const(), bytes)?;
                self.run.taken.totals.borrow_mut().to_device += bytes as u64;
                Ok(())
            }
            (false, true) => {
                self.copy_to_host(to.host(), from, bytes)?;
                self.run.taken.totals.borrow_mut().to_host += bytes as u64;
                Ok(())
            }
            // The macro generates no such copy.
            (true, true) => self.fail(Detail::Skipped),
        }
    }

    /// Waits until the data that earlier operations of this chunk copy to pageable memory have arrived. The
    /// CPU is about to read them, and the events that order the device's copies do not order the CPU.
    fn deliver(&self, host: usize) -> Result<()> {
        if !self.run.arguments.hosts[host].source.writable {
            return Ok(());
        }
        let is_earlier = |operation: &OperationPlan| matches!(operation.kind, OperationKind::Download { host: to, .. } if to == host);
        if self.run.resources.plan.operations[..self.index].iter().any(is_earlier) {
            // The operations that are waited for must be under way.
            self.run.launch()?;
        }
        let mut staging = self.run.taken.staging.borrow_mut();
        for (index, earlier) in self.run.resources.plan.operations.iter().enumerate().take(self.index) {
            if is_earlier(earlier) && staging.slot(index, self.slot).is_some() {
                self.settle(&mut staging, index)?;
            }
        }
        Ok(())
    }

    /// Delivers the data that operations before this one have copied to the same pageable memory in an
    /// earlier chunk and left in their slots, because this chunk leaves those operations out: this
    /// operation's own copy for that chunk must be delivered after them.
    fn deliver_left_over(&self, host: usize) -> Result<()> {
        let mut staging = self.run.taken.staging.borrow_mut();
        for (index, earlier) in self.run.resources.plan.operations[..self.index].iter().enumerate() {
            if earlier.conditional
                && matches!(earlier.kind, OperationKind::Download { host: to, .. } if to == host)
                && staging.slot(index, self.slot).is_some_and(|slot| slot.owes_before(self.turn))
            {
                self.settle(&mut staging, index)?;
            }
        }
        Ok(())
    }

    /// Copies `bytes` of pageable data through this operation's staging slot. The slot may have been filled
    /// ahead.
    fn upload_pageable(&self, to: DevicePtr, from: *const u8, bytes: usize) -> Result<()> {
        let mut staging = self.run.taken.staging.borrow_mut();
        let chunk = self.turn;
        loop {
            let slot = self.slot_with_room(&mut staging, bytes)?;
            if slot.take_filled(chunk) {
                self.device().driver().host_copied(bytes);
                self.copy_to_device(to, slot.ptr(), bytes)?;
                return self.mark(slot, None);
            }
            if slot.has(chunk) {
                self.run.attend(&mut staging).map_err(|error| self.failed(error))?;
                continue;
            }
            self.settle(&mut staging, self.index)?;
            // SAFETY: the range is this chunk's part of the argument, which the run has borrowed; nothing
            // delivers to it any more, and the run's drain waits for the copy however the run ends. The slot
            // has room and is idle.
            unsafe { self.slot_with_room(&mut staging, bytes)?.fill(chunk, from, bytes) };
            staging.has_read(self.index, chunk + 1);
        }
    }

    /// Copies the data with which a source has filled this operation's staging slot.
    fn upload_streamed(&self, to: DevicePtr, bytes: usize) -> Result<()> {
        let chunk = self.chunk.index;
        if !self.slot_with_room(&mut self.run.taken.staging.borrow_mut(), bytes)?.is_read(chunk) {
            // The chunk was begun without its source.
            return self.fail(Detail::Skipped);
        }
        self.device().driver().host_copied(bytes);
        self.with_slot(bytes, |slot| {
            self.copy_to_device(to, slot.ptr(), bytes)?;
            self.mark(slot, None)
        })
    }

    fn slot_with_room<'s>(&self, staging: &'s mut Staging, bytes: usize) -> Result<&'s mut Slot> {
        match staging.slot(self.index, self.slot).filter(|slot| slot.bytes() >= bytes) {
            Some(slot) => Ok(slot),
            None => self.fail(Detail::Skipped),
        }
    }

    /// Performs a copy through a staging slot with `carry_out`, unless the copy is only predicted.
    fn stage(&self, engine: Engine, bytes: usize, carry_out: impl FnOnce() -> Result<()>) -> Result<()> {
        self.run.taken.totals.borrow_mut().staged += bytes as u64;
        if self.works_out(HostPart::Staged { engine, bytes })? { Ok(()) } else { carry_out() }
    }

    /// Passes this operation's staging slot to `enqueue` once the device is done with it.
    fn with_slot(&self, bytes: usize, enqueue: impl FnOnce(&mut Slot) -> Result<()>) -> Result<()> {
        let mut staging = self.run.taken.staging.borrow_mut();
        self.slot_with_room(&mut staging, bytes)?;
        self.settle(&mut staging, self.index)?;
        enqueue(self.slot_with_room(&mut staging, bytes)?)
    }

    /// Combines `stage` and `with_slot`.
    fn stage_in_slot(
        &self,
        engine: Engine,
        bytes: usize,
        enqueue: impl FnOnce(&mut Slot) -> Result<()>,
    ) -> Result<()> {
        self.stage(engine, bytes, || self.with_slot(bytes, enqueue))
    }

    /// Waits until the device is done with the slot of an operation, and the slot's pending data are
    /// delivered.
    fn settle(&self, staging: &mut Staging, operation: usize) -> Result<()> {
        self.run.settle(staging, operation, self.slot).map_err(|error| self.failed(error))
    }

    /// Marks `slot` after the device's copy from or to it was enqueued, so that the end of the copy is known.
    fn mark(&self, slot: &mut Slot, delivery: Option<Delivery>) -> Result<()> {
        self.check(self.run.target.mark((slot, self.slot), delivery, self.stream.raw, self.tag()))
    }

    fn copy_to_device(&self, to: DevicePtr, from: *const u8, bytes: usize) -> Result<()> {
        // SAFETY: `to` is this chunk's slot of the ring and `from` page-locked memory of this device, both of
        // `bytes`; the run holds them until it has drained, and poisons them if it cannot.
        unsafe { self.enqueue_command(Command::CopyToDevice { to, from, bytes }, None) }
    }

    fn copy_to_host(&self, to: *mut u8, from: DevicePtr, bytes: usize) -> Result<()> {
        // SAFETY: as in `copy_to_device`. The CPU does not read `to` before the copy is done: it is the
        // caller's argument, borrowed mutably by the run, or a slot that is settled first.
        unsafe { self.enqueue_command(Command::CopyToHost { to, from, bytes }, None) }
    }
}
