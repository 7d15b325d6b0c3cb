//! [`Operation`]: one operation of one chunk, as the generated code enqueues it.

use bytemuck::Pod;

use crate::base::chunk::Chunk;
use crate::base::error::{Detail, DriverError, Error, Place, Result};
use crate::base::extent::{Axis, Extent};
use crate::base::plan::{AccessPlan, Memory, OperationPlan};
use crate::base::threads::Grid;
use crate::device::Device;
use crate::device::function::{Function, check_limits};
use crate::device::launch::{
    Arguments as LaunchArguments, DeviceSlice, DeviceSliceMut, DeviceSliceOut, Launch, LaunchTarget, aliases,
};
use crate::device::pending::{Caller, caller};
use crate::driver::{Access, Bodies, Command, DevicePtr, DriverResult, RawStream, Tag};
use crate::engine::arguments::Arguments;
use crate::engine::arguments::handles::{AnyBuffer, Buffer};
use crate::engine::arguments::shape::{BufferPlace, Shape};
use crate::engine::chunks::window::Window;
use crate::engine::explain::explain;
use crate::engine::place::place_of;
use crate::engine::run::resources::Resources;
use crate::engine::run::{EventKey, Run};
use crate::engine::targets::what::{HostPart, Numbered, What};
use crate::observe::watch::OperationWatch;

/// One operation of one chunk.
#[derive(Clone, Copy)]
pub struct Operation<'r> {
    pub(crate) run: &'r Run<'r>,
    /// Index into the plan's operations.
    pub(crate) index: usize,
    pub(crate) chunk: Chunk,
    /// The chunk's number among those of this device.
    pub(crate) turn: usize,
    /// The ring slot of the chunk.
    pub(crate) slot: usize,
    pub(crate) stream: Numbered<RawStream>,
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
        if self.turn < self.run.resources.depth { Ok(()) } else { self.wait_for(event, self.slot) }
    }

    /// Makes the stream wait for an event of the chunk before.
    #[inline]
    pub fn wait_previous(&self, event: EventKey) -> Result<()> {
        match self.turn.checked_sub(1) {
            Some(previous) => self.wait_for(event, previous % self.run.resources.depth),
            None => Ok(()),
        }
    }

    fn wait_for(&self, event: EventKey, slot: usize) -> Result<()> {
        let event = self.run.event(event, slot);
        // SAFETY: the stream and the event live as long as the run.
        unsafe { self.enqueue_command(Command::Wait(event.raw), Some(event.number)) }
    }

    /// Records an event of this chunk.
    #[inline]
    pub fn record(&self, event: EventKey) -> Result<()> {
        let event = self.run.event(event, self.slot);
        // SAFETY: the stream and the event live as long as the run.
        unsafe { self.enqueue_command(Command::Record(event.raw), Some(event.number)) }
    }

    /// Sets every element of a buffer's chunk to `value`.
    pub fn fill<T: Pod>(&self, buffer: Buffer<T>, value: T) -> Result<()> {
        let _seen = self.seen();
        let (to, bytes) = self.range_to_write(buffer)?;
        let pattern = bytemuck::bytes_of(&value);
        let count = bytes.checked_div(pattern.len()).unwrap_or(0);
        // SAFETY: the range is a slot of the ring or a chunk of an argument, which live as long as the run;
        // `device_range` has checked it. It begins whole elements after an allocation's start, which is
        // aligned to 256 bytes.
        unsafe { self.enqueue_command(Command::Fill { to, pattern, count }, None) }
    }

    /// A launch's `&buffer`.
    #[inline]
    pub fn read<B: AnyBuffer>(&self, buffer: B) -> DeviceSlice<'r, B::Element> {
        let (ptr, len) = self.elements(buffer.buffer());
        DeviceSlice::new(ptr, len)
    }

    /// A launch's `&mut buffer`.
    #[inline]
    pub fn read_write<B: AnyBuffer>(&self, buffer: B) -> DeviceSliceMut<'r, B::Element> {
        let (ptr, len) = self.elements(buffer.buffer());
        DeviceSliceMut::new(ptr, len)
    }

    /// A launch's `out buffer`.
    #[inline]
    pub fn write<B: AnyBuffer>(&self, buffer: B) -> DeviceSliceOut<'r, B::Element> {
        let (ptr, len) = self.elements(buffer.buffer());
        DeviceSliceOut::new(ptr, len)
    }

    /// A launch's `<<<grid, block, shared>>>`.
    #[inline]
    pub fn config(&self, grid: impl Extent, block: impl Extent, shared: impl Axis) -> Launch<'_> {
        let grid = Grid { grid_dim: grid.extent(), block_dim: block.extent(), shared: shared.axis() };
        Launch::new(self, caller(self.plan().text), grid)
    }

    pub(crate) fn device(&self) -> &'r Device {
        self.run.resources.device
    }

    /// Whether the run has followed the plan so far.
    pub(crate) fn in_order(&self) -> bool {
        self.run.order.is_kept()
    }

    /// Whether a launch may touch this memory: it belongs to the run's own ring or arguments, and so lives as
    /// long as the launch.
    pub(crate) fn owns(&self, access: &Access) -> bool {
        self.run.resources.ring.holds(access)
            || self.run.arguments.in_place.iter().any(|data| data.holds(access))
            || self.run.arguments.holds_on_host(access)
    }

    /// Whether a host function may touch this memory: it must also be page-locked and belong to this chunk.
    /// Functions of chunks that nothing orders run at the same time.
    pub(crate) fn owns_on_host(&self, access: &Access) -> bool {
        let Run { resources: Resources { ring, .. }, arguments, .. } = self.run;
        let Arguments { in_place, buffers, .. } = arguments;
        let is_own = buffers.iter().enumerate().any(|(index, buffer)| {
            let part = match buffer.place {
                BufferPlace::HostRing => ring.slot(index, self.slot),
                BufferPlace::InPlace(ptr, _, first) => {
                    let (start, _) = self.host_range(buffer.shape);
                    let start = start.checked_sub(first);
                    start.map(|start| (ptr.offset(start), buffer.bytes(self.chunk.len)))
                }
                BufferPlace::Ring
                | BufferPlace::Shared(_)
                | BufferPlace::SharedPerSlot(_)
                | BufferPlace::SharedInPlace(..)
                | BufferPlace::Host(..)
                | BufferPlace::HostWithin(..)
                | BufferPlace::SharedHost(..) => None,
            };
            part.is_some_and(|(ptr, bytes)| access.is_within(ptr, bytes))
        });
        let is_on_host = || {
            ring.holds_on_host(access) || in_place.iter().any(|data| data.is_on_host() && data.holds(access))
        };
        is_own && is_on_host()
    }

    /// Shows observers that the operation is being enqueued, as long as the result lives.
    #[inline]
    pub(crate) fn seen(&self) -> OperationWatch {
        self.run.seen.operation(self.run.resources.plan, self.index, self.chunk.index)
    }

    /// The plan of this operation.
    pub(crate) fn plan(&self) -> &'static OperationPlan {
        &self.run.resources.plan.operations[self.index]
    }

    pub(crate) fn place(&self) -> Place {
        place_of(self.run.resources.plan, self.index, Some(self.chunk.index as u64))
    }

    /// The stream for operations that no graph can hold.
    pub(crate) fn direct_stream(&self) -> RawStream {
        self.run.target.direct_stream(self.stream.raw)
    }

    /// Enqueues an operation that no graph can hold: in graph mode, between two graphs.
    pub(crate) fn direct(&self, enqueue: impl FnOnce(RawStream) -> DriverResult<()>) -> Result<()> {
        self.run.launch()?;
        self.check(self.run.target.direct(self.stream.raw, enqueue))
    }

    /// Predicts the host's part if nothing is carried out, and returns whether that is so.
    pub(crate) fn works_out(&self, part: HostPart) -> Result<bool> {
        match self.run.target.works_out(part, self.stream.number, self.slot, self.tag()) {
            Ok(is_worked_out) => Ok(is_worked_out),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Enqueues a command. `event`: the number of the plan's event that it records or waits for.
    ///
    /// # Safety
    /// Those of [`Driver::enqueue`](crate::driver::Driver::enqueue).
    #[inline]
    pub(crate) unsafe fn enqueue_command(&self, command: Command<'_>, event: Option<usize>) -> Result<()> {
        // SAFETY: the caller's promise; the stream lives as long as the run.
        self.check(unsafe { self.run.target.enqueue(command, self.stream, event, self.tag()) })
    }

    /// The bytes of the buffers that this operation uses according to its plan.
    pub(crate) fn bytes_used(&self) -> usize {
        let bytes = |access: &AccessPlan| match access.memory {
            Memory::Buffer(buffer) => self.run.arguments.buffers[buffer].bytes(self.chunk.len),
            Memory::Host(_) => 0,
        };
        self.plan().accesses.iter().map(bytes).fold(0, usize::saturating_add)
    }

    /// Enqueues one command that no graph can hold.
    pub(crate) fn outside_graphs(
        &self,
        what: What,
        enqueue: impl FnOnce(RawStream) -> DriverResult<()>,
    ) -> Result<()> {
        self.run.launch()?;
        self.check(self.run.target.outside_graphs(self.stream, self.tag(), what, enqueue))
    }

    pub(crate) fn tag(&self) -> Tag {
        Tag { pipeline: self.run.resources.id, operation: self.index as u32, chunk: self.chunk.index as u64 }
    }

    /// An error of this operation, after which nothing more is enqueued.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail<T>(&self, detail: Detail) -> Result<T> {
        Err(self.refuse(detail))
    }

    fn refuse(&self, detail: Detail) -> Error {
        if let Some(error) = self.run.order.refusal() {
            return error;
        }
        if let Detail::Driver(error) = detail {
            return self.failed(error);
        }
        self.run.order.refuse();
        Error::new(detail).at(self.place())
    }

    /// The result of a driver call, with this operation's place if the failure is its own.
    #[inline]
    pub(crate) fn check(&self, result: DriverResult<()>) -> Result<()> {
        match result {
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn failed(&self, error: Box<DriverError>) -> Error {
        self.run.order.refuse();
        if error.tag.is_none() && !error.is_asynchronous() {
            let chunk = Some(self.chunk.index as u64);
            Error::from(error).at(place_of(self.run.resources.plan, self.index, chunk))
        } else {
            explain(self.run.resources.plan, error)
        }
    }

    /// This chunk's part of a host argument: the offset of its first byte, and its length in bytes.
    pub(crate) fn host_range(&self, shape: Shape) -> (usize, usize) {
        shape.range(self.chunk)
    }

    /// The offset of what this chunk sees of a host argument, in bytes; `None` if it sees items beyond the first
    /// or the last one.
    fn seen_within(&self, shape: Shape) -> Option<usize> {
        let window = Window::new(self.chunk, self.run.items(), shape);
        let (before, _, after) = window.bytes();
        (before + after == 0).then(|| window.first_byte())
    }

    /// Whether this chunk of a host argument is what it has of the buffer, so that nothing is copied between the
    /// two.
    pub(crate) fn is_same(&self, host: usize, buffer: usize) -> bool {
        let Arguments { hosts, buffers, .. } = &self.run.arguments;
        let is_within = matches!(buffers[buffer].place, BufferPlace::HostWithin(same, ..) if same == host);
        self.run.arguments.is_same(host, buffer) || is_within && self.seen_within(hosts[host].shape).is_some()
    }

    /// This chunk's slot of a buffer: its address and its size in bytes.
    #[inline(always)]
    fn room(&self, buffer: usize) -> Option<(DevicePtr, usize)> {
        let shape = &self.run.arguments.buffers[buffer];
        match shape.place {
            BufferPlace::Shared(_) => self.run.resources.ring.slot(buffer, 0),
            BufferPlace::Ring | BufferPlace::HostRing | BufferPlace::SharedPerSlot(_) => {
                self.run.resources.ring.slot(buffer, self.slot)
            }
            BufferPlace::SharedInPlace(ptr, _) | BufferPlace::SharedHost(ptr, _) => {
                Some((ptr, shape.bytes(self.chunk.len)))
            }
            BufferPlace::InPlace(ptr, all, first) => {
                let (start, _) = self.host_range(shape.shape);
                let start = start.checked_sub(first)?;
                all.checked_sub(start).map(|room| (ptr.offset(start), room))
            }
            BufferPlace::Host(_, ptr, all) => {
                let (start, _) = self.host_range(shape.shape);
                all.checked_sub(start).map(|room| (ptr.offset(start), room))
            }
            BufferPlace::HostWithin(_, ptr, all) => match self.seen_within(shape.shape) {
                Some(start) => all.checked_sub(start).map(|room| (ptr.offset(start), room)),
                None => self.run.resources.ring.slot(buffer, self.slot),
            },
        }
    }

    /// The name of the buffer in which this chunk has that address.
    pub(crate) fn buffer_at(&self, address: DevicePtr) -> Option<&'static str> {
        let is_at = |buffer: &usize| {
            self.room(*buffer).is_some_and(|(ptr, room)| ptr <= address && address < ptr.offset(room))
        };
        let buffer = (0..self.run.arguments.buffers.len()).find(is_at)?;
        Some(self.run.resources.plan.buffers.get(buffer)?.name)
    }

    /// This chunk's slot of a buffer: its address and the number of bytes in use.
    pub(crate) fn device_range<T>(&self, buffer: Buffer<T>) -> Result<(DevicePtr, usize)> {
        let bytes = self.run.arguments.buffers[buffer.index].bytes(self.chunk.len);
        match self.start(buffer.index, bytes) {
            Some(ptr) => Ok((ptr, bytes)),
            None => self.fail(Detail::Skipped),
        }
    }

    /// The start of this chunk's slot of a buffer; `None` if it has fewer than `bytes`, or the run was
    /// refused.
    #[inline(always)]
    fn start(&self, buffer: usize, bytes: usize) -> Option<DevicePtr> {
        let (ptr, room) = self.room(buffer)?;
        (bytes <= room && self.run.order.is_kept()).then_some(ptr)
    }

    /// The start of this chunk's slot of a buffer for so many bytes, of which some may be beyond this rank's items.
    pub(crate) fn room_for(&self, buffer: usize, bytes: usize) -> Option<DevicePtr> {
        self.start(buffer, bytes)
    }

    /// Like [`device_range`](Self::device_range), but refuses an argument that was borrowed shared.
    pub(crate) fn range_to_write<T>(&self, buffer: Buffer<T>) -> Result<(DevicePtr, usize)> {
        let (ptr, bytes) = self.device_range(buffer)?;
        let shape = self.run.arguments.buffers[buffer.index];
        let is_argument = shape.is_in_place() || shape.is_on_host();
        if is_argument && !self.owns(&Access { ptr, bytes, write: true, anew: false }) {
            return self.fail(Detail::Skipped);
        }
        Ok((ptr, bytes))
    }

    /// Checks that both sides of a copy have the same number of bytes: `Call` has compared their items, this
    /// compares the chunk.
    pub(crate) fn same_size(&self, (ptr, have): (DevicePtr, usize), bytes: usize) -> Result<DevicePtr> {
        if have == bytes { Ok(ptr) } else { self.fail(Detail::Skipped) }
    }

    /// This chunk's slot of a buffer, in elements, for a launch. For a buffer of another call, whose elements
    /// may be of another type, the result is empty, and the launch is refused.
    pub(crate) fn elements<T>(&self, buffer: Buffer<T>) -> (DevicePtr, usize) {
        let shape = &self.run.arguments.buffers[buffer.index];
        let len = shape.len(self.chunk.len);
        // The same as `BufferShape::bytes`, because the size of an element is compared below.
        let bytes = len.saturating_mul(size_of::<T>());
        match self.start(buffer.index, bytes) {
            Some(ptr) if shape.shape.element == size_of::<T>() && ptr.is_aligned::<T>() => (ptr, len),
            _ => {
                self.run.order.refuse();
                (DevicePtr(0), 0)
            }
        }
    }
}

impl LaunchTarget for Operation<'_> {
    #[inline]
    fn asks(&self) {
        self.run.order.ask();
    }

    #[cold]
    fn refused(&self, _: Caller, _: &'static str, detail: Detail) -> Error {
        self.refuse(detail)
    }

    unsafe fn enqueue(
        &self,
        _: Caller,
        function: &Function,
        arguments: LaunchArguments<'_>,
        bodies: &dyn Bodies,
        grid: Grid,
    ) -> Result<()> {
        if !self.in_order() {
            return self.fail(Detail::Skipped);
        }
        check_limits(function, grid).or_else(|kind| self.fail(kind))?;
        if aliases(arguments.accesses) {
            return self.fail(Detail::Aliased { kernel: function.name });
        }
        let is_own = self.device().check_own(function.name, &function.device);
        is_own.or_else(|kind| self.fail(kind))?;
        // A view does not know how long its memory lives; the run knows for how long its own does.
        if !arguments.accesses.iter().all(|access| self.owns(access)) {
            return self.fail(Detail::Skipped);
        }
        self.give_symbols(function, arguments.symbols)?;
        if function.is_kept() {
            let mut launched = self.run.taken.launched.borrow_mut();
            launched.keep(self.tag(), self.turn, grid, (arguments.accesses, bodies));
        }
        let launch = arguments.launch(function, grid, bodies);
        let _seen = self.seen();
        // SAFETY: the stream and the views are of this run, which drains before they go; the rest is the
        // caller's promise.
        unsafe { self.enqueue_command(Command::Launch(&launch), None) }
    }
}

impl std::fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of chunk {}", self.run.resources.plan.operations[self.index].text, self.chunk.index)
    }
}
