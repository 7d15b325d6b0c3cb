//! What collectives use, [`Operand`]s, and what a rank has of them in a chunk of which it has fewer items than others.

use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use bytemuck::Pod;

use crate::base::error::{Detail, Error, RanksDetail, Result};
use crate::base::plan::{Memory, OperationKind};
use crate::device::range::bounds;
use crate::driver::{Access, Command, DevicePtr};
use crate::engine::arguments::handles::Buffer;
use crate::engine::arguments::shape::BufferShape;
use crate::engine::run::operation::Operation;

/// Memory that a collective uses: all of a buffer, or a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Operand<T> {
    pub(super) buffer: usize,
    pub(super) ptr: DevicePtr,
    /// Bytes of it that all ranks use.
    pub(super) bytes: usize,
    /// Bytes of it that this rank's own items have.
    own: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T> Operand<T> {
    /// The same memory, `parts` of which make the whole; `None` if it cannot be divided so.
    pub(super) fn part_of(&self, parts: usize) -> Option<usize> {
        let whole =
            self.bytes.is_multiple_of(parts) && (self.bytes / parts).is_multiple_of(size_of::<T>().max(1));
        whole.then(|| self.bytes / parts)
    }

    pub(super) fn access(&self, write: bool) -> Access {
        Access { ptr: self.ptr, bytes: self.bytes, write, anew: false }
    }
}

impl Operation<'_> {
    // Note 78: a rank takes part in chunks that it has no items of.
    /// Whether the operation is to be enqueued: in a chunk without items of this rank, only what does not need any.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.chunk.len > 0 || self.needs_no_items()
    }

    #[cold]
    fn needs_no_items(&self) -> bool {
        self.begin_without_items();
        let mut missing = self.run.missing.borrow_mut();
        let plan = self.plan();
        let moves = match plan.kind {
            // What goes to or comes from the host is items, or a chunk's own result, and there are none.
            OperationKind::Upload { .. } | OperationKind::Download { .. } | OperationKind::Then => true,
            _ => false,
        };
        let lacks = plan.accesses.iter().any(|access| match access.memory {
            Memory::Host(_) => true,
            Memory::Buffer(buffer) => {
                self.run.arguments.buffers[buffer].is_by_item() || access.reads && missing.is(buffer)
            }
        });
        let is_due = !moves && !lacks;
        for access in plan.accesses.iter().filter(|access| access.writes) {
            if let Memory::Buffer(buffer) = access.memory {
                missing.set(buffer, !is_due);
            }
        }
        is_due
    }

    /// Notes what the chunk lacks, before its first operation.
    fn begin_without_items(&self) {
        let mut missing = self.run.missing.borrow_mut();
        if missing.chunk != Some(self.chunk.index) {
            missing.begin(self.chunk.index, &self.run.arguments.buffers);
        }
    }

    /// All of a buffer, for a collective.
    pub fn whole<T: Pod>(&self, buffer: Buffer<T>) -> Operand<T> {
        let shape = &self.run.arguments.buffers[buffer.index];
        let len = shape.len(self.agreed_items());
        self.operand(buffer, 0..len)
    }

    /// A part of a buffer, in elements, for a collective.
    pub fn part<T: Pod>(&self, buffer: Buffer<T>, range: impl RangeBounds<usize>) -> Operand<T> {
        let shape = &self.run.arguments.buffers[buffer.index];
        let len = shape.len(self.agreed_items());
        let (start, end) = bounds(len, range);
        if start > end || end > len {
            let buffer = self.run.resources.plan.buffers[buffer.index].name;
            let refused = Detail::Ranks(RanksDetail::Part { buffer, start, end, len });
            self.run.order.refuse_with(Error::new(refused).at(self.place()));
            return self.operand_of_nothing(0);
        }
        self.operand(buffer, start..end)
    }

    fn operand_of_nothing<T>(&self, buffer: usize) -> Operand<T> {
        Operand { buffer, ptr: DevicePtr(0), bytes: 0, own: 0, elements: PhantomData }
    }

    fn operand<T: Pod>(&self, buffer: Buffer<T>, range: Range<usize>) -> Operand<T> {
        if self.chunk.len == 0 {
            self.begin_without_items();
        }
        let (size, index) = (size_of::<T>(), buffer.index);
        let shape = &self.run.arguments.buffers[index];
        let whole = shape.bytes(self.agreed_items());
        let own = match self.chunk.len {
            0 if self.run.missing.borrow().is(index) => 0,
            items => shape.len(items),
        };
        match self.room_for(index, whole) {
            Some(ptr) if shape.shape.element == size && ptr.is_aligned::<T>() => Operand {
                buffer: index,
                ptr: ptr.offset(range.start * size),
                bytes: range.len() * size,
                own: own.clamp(range.start, range.end).saturating_sub(range.start) * size,
                elements: PhantomData,
            },
            _ => {
                self.run.order.refuse();
                self.operand_of_nothing(index)
            }
        }
    }

    /// Items of the chunk on the rank that has the most.
    fn agreed_items(&self) -> usize {
        self.run.chunks.agreed_items(self.chunk)
    }

    /// Fills in what this rank lacks of an operand.
    pub(super) fn complete<T>(&self, operand: &Operand<T>, pattern: &[u8]) -> Result<()> {
        let lacking = operand.bytes - operand.own;
        self.fill_with(operand.ptr.offset(operand.own), lacking, pattern)?;
        self.note_written(operand.buffer);
        Ok(())
    }

    /// Fills an operand that this rank gets nothing into.
    pub(super) fn zero<T>(&self, operand: &Operand<T>) -> Result<()> {
        self.fill_with(operand.ptr, operand.bytes, &[0])
    }

    pub(super) fn fill_with(&self, to: DevicePtr, bytes: usize, pattern: &[u8]) -> Result<()> {
        let access = Access { ptr: to, bytes, write: true, anew: false };
        if bytes == 0 {
            return Ok(());
        }
        if !self.in_order() || !self.owns(&access) {
            return self.fail(Detail::Skipped);
        }
        let count = bytes / pattern.len();
        // SAFETY: the range is the run's, which lives until it has drained; it begins whole elements after an
        // allocation's start, and a pattern of several bytes is one element.
        unsafe { self.enqueue_command(Command::Fill { to, pattern, count }, None) }
    }

    pub(super) fn note_written(&self, buffer: usize) {
        if self.chunk.len == 0 {
            self.run.missing.borrow_mut().set(buffer, false);
        }
    }
}

/// The buffers of a chunk without items that nothing has written.
#[derive(Debug, Default)]
pub(crate) struct Missing {
    chunk: Option<usize>,
    buffers: Vec<bool>,
    /// Those that the whole run shares, which are never missing: they stay as they were.
    shared: Vec<bool>,
}

impl Missing {
    /// Begins a chunk: its slot has what an earlier chunk has left there, which is nobody's.
    fn begin(&mut self, chunk: usize, buffers: &[BufferShape]) {
        self.chunk = Some(chunk);
        (self.buffers, self.shared) =
            buffers.iter().map(|buffer| (!buffer.is_shared(), buffer.is_shared())).unzip();
    }

    fn is(&self, buffer: usize) -> bool {
        self.buffers.get(buffer).copied().unwrap_or(false)
    }

    fn set(&mut self, buffer: usize, missing: bool) {
        if let Some(known) = self.buffers.get_mut(buffer) {
            *known = missing && !self.shared[buffer];
        }
    }
}
