//! Collective operations: what this rank does together with all others.
//!
//! Each enqueues one command on the device's communicator, or, in a world of one, copies what goes from this rank to
//! itself. Where this rank has fewer items than others, the missing ones are filled in before: with the element that
//! changes nothing in a reduction, and with zeros in what is moved.

use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::Pod;

use crate::base::collective::{self, CollectiveKind, Path, Reduction, neutral};
use crate::base::error::{Detail, RanksDetail, Result};
use crate::base::plan::{Memory, OperationKind};
use crate::device::range::bounds;
use crate::driver::collective::{Message, RawCollective, Shared};
use crate::driver::{Access, Command, DevicePtr};
use crate::engine::arguments::handles::Buffer;
use crate::engine::run::operation::Operation;
use crate::engine::targets::what::{HostPart, What};
use crate::observe::timeline::Engine;

/// Memory that a collective uses: all of a buffer, or a part of it.
#[derive(Debug, Clone, Copy)]
pub struct Operand<T> {
    buffer: usize,
    ptr: DevicePtr,
    /// Bytes of it that all ranks use.
    bytes: usize,
    /// Bytes of it that this rank's own items have.
    own: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T> Operand<T> {
    /// The same memory, `parts` of which make the whole; `None` if it cannot be divided so.
    fn part_of(&self, parts: usize) -> Option<usize> {
        let whole =
            self.bytes.is_multiple_of(parts) && (self.bytes / parts).is_multiple_of(size_of::<T>().max(1));
        whole.then(|| self.bytes / parts)
    }

    fn access(&self, write: bool) -> Access {
        Access { ptr: self.ptr, bytes: self.bytes, write, anew: false }
    }
}

/// The rank that each rank names in a `pass`, if it names one.
#[derive(Debug)]
pub struct EachRank<F>(Option<F>);

/// The ranks that an expression names, one for each rank.
pub fn everyone<P: Peer, F: Fn(usize) -> P>(of: F) -> EachRank<F> {
    EachRank(Some(of))
}

/// The side of a `pass` that follows from the other one.
pub fn nobody() -> EachRank<fn(usize) -> usize> {
    EachRank(None)
}

/// A rank, or none: what an expression of `pass` may give.
pub trait Peer {
    #[doc(hidden)]
    fn rank(self) -> Option<usize>;
}

impl Peer for usize {
    fn rank(self) -> Option<usize> {
        Some(self)
    }
}

impl Peer for Option<usize> {
    fn rank(self) -> Option<usize> {
        self
    }
}

impl<P: Peer, F: Fn(usize) -> P> EachRank<F> {
    /// The ranks that the ranks of a world of this size name.
    fn all(&self, size: usize) -> Option<Vec<Option<usize>>> {
        let of = self.0.as_ref()?;
        Some((0..size).map(|rank| of(rank).rank()).collect())
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
            self.run.order.refuse_with(crate::base::error::Error::new(refused).at(self.place()));
            return self.operand_of_nothing(0);
        }
        self.operand(buffer, start..end)
    }

    fn operand_of_nothing<T>(&self, buffer: usize) -> Operand<T> {
        Operand { buffer, ptr: DevicePtr(0), bytes: 0, own: 0, elements: PhantomData }
    }

    fn operand<T: Pod>(&self, buffer: Buffer<T>, range: std::ops::Range<usize>) -> Operand<T> {
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

    /// `all_reduce`
    pub fn all_reduce<T: Pod, R: Reduction<T>>(&self, _: R, operand: Operand<T>) -> Result<()> {
        let operands = R::operands();
        self.complete(&operand, &neutral(operands.reduce, operands.element))?;
        let Operand { ptr: at, bytes, .. } = operand;
        let accesses = vec![operand.access(true)];
        self.together(CollectiveKind::AllReduce, Shared::AllReduce { at, bytes, operands }, accesses)
    }

    /// `reduce`
    pub fn reduce<T: Pod, R: Reduction<T>>(&self, _: R, operand: Operand<T>, root: usize) -> Result<()> {
        self.check_root(root)?;
        let operands = R::operands();
        self.complete(&operand, &neutral(operands.reduce, operands.element))?;
        let Operand { ptr: at, bytes, .. } = operand;
        let accesses = vec![operand.access(true)];
        self.together(CollectiveKind::Reduce, Shared::Reduce { at, bytes, operands, root }, accesses)
    }

    /// `broadcast`
    pub fn broadcast<T: Pod>(&self, operand: Operand<T>, root: usize) -> Result<()> {
        self.check_root(root)?;
        self.complete(&operand, &[0])?;
        let Operand { ptr: at, bytes, .. } = operand;
        let accesses = vec![operand.access(true)];
        self.together(CollectiveKind::Broadcast, Shared::Broadcast { at, bytes, root }, accesses)
    }

    /// `all_gather`
    pub fn all_gather<T: Pod>(&self, from: Operand<T>, to: Operand<T>) -> Result<()> {
        self.check_parts(&to, &from)?;
        self.complete(&from, &[0])?;
        let accesses = vec![from.access(false), to.access(true)];
        let work = Shared::AllGather { from: from.ptr, to: to.ptr, bytes: from.bytes };
        self.together(CollectiveKind::AllGather, work, accesses)
    }

    /// `gather`
    pub fn gather<T: Pod>(&self, from: Operand<T>, to: Operand<T>, root: usize) -> Result<()> {
        self.check_root(root)?;
        self.check_parts(&to, &from)?;
        self.complete(&from, &[0])?;
        let sends = vec![Message { rank: root, at: from.ptr, bytes: from.bytes }];
        let receives = if self.rank() == root { self.parts(&to, from.bytes) } else { Vec::new() };
        if receives.is_empty() {
            self.zero(&to)?;
        }
        let accesses = vec![from.access(false), to.access(true)];
        self.together(CollectiveKind::Gather, Shared::Messages { sends, receives }, accesses)
    }

    /// `scatter`
    pub fn scatter<T: Pod>(&self, from: Operand<T>, to: Operand<T>, root: usize) -> Result<()> {
        self.check_root(root)?;
        self.check_parts(&from, &to)?;
        self.complete(&from, &[0])?;
        let sends = if self.rank() == root { self.parts(&from, to.bytes) } else { Vec::new() };
        let receives = vec![Message { rank: root, at: to.ptr, bytes: to.bytes }];
        let accesses = vec![from.access(false), to.access(true)];
        self.together(CollectiveKind::Scatter, Shared::Messages { sends, receives }, accesses)
    }

    /// `reduce_scatter`
    pub fn reduce_scatter<T: Pod, R: Reduction<T>>(
        &self,
        _: R,
        from: Operand<T>,
        to: Operand<T>,
    ) -> Result<()> {
        self.check_parts(&from, &to)?;
        let (operands, bytes, parts) = (R::operands(), to.bytes, self.size());
        self.complete(&from, &neutral(operands.reduce, operands.element))?;
        let accesses = vec![from.access(false), to.access(true)];
        let work = Shared::ReduceScatter { from: from.ptr, to: to.ptr, bytes, parts, operands };
        self.together(CollectiveKind::ReduceScatter, work, accesses)
    }

    /// `all_to_all`
    pub fn all_to_all<T: Pod>(&self, from: Operand<T>, to: Operand<T>) -> Result<()> {
        let part = from.part_of(self.size()).filter(|_| from.bytes == to.bytes);
        let Some(part) = part else { return self.do_not_fit(&from, &to) };
        self.complete(&from, &[0])?;
        let work = Shared::Messages { sends: self.parts(&from, part), receives: self.parts(&to, part) };
        let accesses = vec![from.access(false), to.access(true)];
        self.together(CollectiveKind::AllToAll, work, accesses)
    }

    /// `barrier`
    pub fn barrier(&self) -> Result<()> {
        self.together(CollectiveKind::Barrier, Shared::Barrier, Vec::new())
    }

    /// `pass`
    pub fn pass<T, P, F, Q, G>(
        &self,
        from: Operand<T>,
        to: Operand<T>,
        of: EachRank<F>,
        towards: EachRank<G>,
    ) -> Result<()>
    where
        T: Pod,
        P: Peer,
        F: Fn(usize) -> P,
        Q: Peer,
        G: Fn(usize) -> Q,
    {
        if from.bytes != to.bytes {
            return self.do_not_fit(&from, &to);
        }
        let size = self.size();
        let [of, towards] = match matched(of.all(size), towards.all(size), size) {
            Ok(both) => both.map(|all| all[self.rank()]),
            Err(why) => return self.fail(Detail::Ranks(RanksDetail::Unmatched { why })),
        };
        self.complete(&from, &[0])?;
        let message = |rank: Option<usize>, operand: &Operand<T>| {
            rank.map(|rank| Message { rank, at: operand.ptr, bytes: operand.bytes }).into_iter().collect()
        };
        let (sends, receives): (Vec<_>, Vec<_>) = (message(towards, &from), message(of, &to));
        if receives.is_empty() {
            self.zero(&to)?;
        }
        let accesses = vec![from.access(false), to.access(true)];
        self.together(CollectiveKind::Pass, Shared::Messages { sends, receives }, accesses)
    }

    /// `exchange`: `halo` elements at both ends are those of the neighbours.
    pub fn exchange<T: Pod>(&self, operand: Operand<T>, halo: usize, periodic: bool) -> Result<()> {
        let (bytes, size, rank) = (halo.saturating_mul(size_of::<T>()), self.size(), self.rank());
        if bytes.checked_mul(3).is_none_or(|least| least > operand.bytes) {
            let buffer = self.run.resources.plan.buffers[operand.buffer].name;
            let len = operand.bytes / size_of::<T>().max(1);
            return self.fail(Detail::Ranks(RanksDetail::Halo { buffer, halo, len }));
        }
        self.complete(&operand, &[0])?;
        let at = |start: usize| operand.ptr.offset(start);
        let left = if rank > 0 { Some(rank - 1) } else { periodic.then(|| size - 1) };
        let right = if rank + 1 < size { Some(rank + 1) } else { periodic.then_some(0) };
        let message = |rank: usize, start: usize| Message { rank, at: at(start), bytes };
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        // Two ranks of a ring are each other's neighbours on both sides: what goes to the left comes from the right, so
        // both list what goes left first.
        if let Some(left) = left {
            sends.push(message(left, bytes));
        }
        if let Some(right) = right {
            receives.push(message(right, operand.bytes - bytes));
            sends.push(message(right, operand.bytes - 2 * bytes));
        }
        if let Some(left) = left {
            receives.push(message(left, 0));
        }
        let accesses = vec![operand.access(true)];
        self.together(CollectiveKind::Exchange, Shared::Messages { sends, receives }, accesses)
    }

    /// One message for each rank, with the parts of an operand in the order of ranks.
    fn parts<T>(&self, operand: &Operand<T>, bytes: usize) -> Vec<Message> {
        let part = |rank: usize| Message { rank, at: operand.ptr.offset(rank * bytes), bytes };
        (0..self.size()).map(part).collect()
    }

    fn rank(&self) -> usize {
        self.run.resources.ranks.map_or(0, |ranks| ranks.rank())
    }

    fn size(&self) -> usize {
        self.run.resources.ranks.map_or(1, |ranks| ranks.size())
    }

    fn check_root(&self, root: usize) -> Result<()> {
        let size = self.size();
        if root < size {
            Ok(())
        } else {
            self.fail(Detail::Ranks(RanksDetail::NoSuchRank { rank: root, size }))
        }
    }

    /// Checks that `whole` has a part for each rank, as large as `part`.
    fn check_parts<T>(&self, whole: &Operand<T>, part: &Operand<T>) -> Result<()> {
        if part.bytes.checked_mul(self.size()) == Some(whole.bytes) {
            return Ok(());
        }
        self.do_not_fit(whole, part)
    }

    fn do_not_fit<T>(&self, one: &Operand<T>, other: &Operand<T>) -> Result<()> {
        let side = |operand: &Operand<T>| {
            let name = self.run.resources.plan.buffers[operand.buffer].name;
            (name, operand.bytes / size_of::<T>().max(1))
        };
        let (one, other, ranks) = (side(one), side(other), self.size());
        self.fail(Detail::Ranks(RanksDetail::Parts { one, other, ranks }))
    }

    /// Fills in what this rank lacks of an operand.
    fn complete<T>(&self, operand: &Operand<T>, pattern: &[u8]) -> Result<()> {
        let lacking = operand.bytes - operand.own;
        self.fill_with(operand.ptr.offset(operand.own), lacking, pattern)?;
        self.note_written(operand.buffer);
        Ok(())
    }

    /// Fills an operand that this rank gets nothing into.
    fn zero<T>(&self, operand: &Operand<T>) -> Result<()> {
        self.fill_with(operand.ptr, operand.bytes, &[0])
    }

    fn fill_with(&self, to: DevicePtr, bytes: usize, pattern: &[u8]) -> Result<()> {
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

    fn note_written(&self, buffer: usize) {
        if self.chunk.len == 0 {
            self.run.missing.borrow_mut().set(buffer, false);
        }
    }

    /// Enqueues a collective.
    fn together(&self, kind: CollectiveKind, work: Shared, accesses: Vec<Access>) -> Result<()> {
        let _seen = self.seen();
        let accesses: Vec<Access> = accesses.into_iter().filter(|access| access.bytes > 0).collect();
        if !self.in_order() || !accesses.iter().all(|access| self.owns(access)) {
            return self.fail(Detail::Skipped);
        }
        for access in self.plan().accesses.iter().filter(|access| access.writes) {
            if let Memory::Buffer(buffer) = access.memory {
                self.note_written(buffer);
            }
        }
        let communicator = self.run.resources.ranks.and_then(|ranks| ranks.communicator());
        let Some(communicator) = communicator else { return self.with_itself(&work) };
        let (text, line) = (self.plan().text, self.plan().line);
        let collective = RawCollective { communicator, kind, text, line, work, accesses };
        let bytes = collective.bytes();
        let nanos = collective::time(kind, bytes, self.size(), self.path());
        if self.works_out(HostPart::Collective { bytes, nanos })? {
            return Ok(());
        }
        self.outside_graphs(What::new(Engine::Network, bytes), |stream| {
            self.run.posted.note(stream);
            // SAFETY: the stream and the memory are of this run, which has drained before they go, and the plan orders
            // everything else that uses the memory.
            unsafe { self.device().driver().enqueue(Command::Collective(&collective), stream, self.tag()) }
        })
    }

    /// What is known of the links to other ranks before anything is measured: those of a simulated machine, else the
    /// device's own.
    fn path(&self) -> Path {
        let device = self.device();
        let (model, machine) = (device.calibration(), device.driver().machine());
        let link = machine.and_then(|(machine, _)| machine.links.first());
        let rate = link.map_or(model.to_device, |link| link.rate);
        let latency = link.map_or(model.copy_latency, |link| link.latency);
        // A rate that is none is no limit.
        let rate = if rate > 0.0 { rate / 1e9 } else { f64::INFINITY };
        Path { rate, latency: latency.as_secs_f64() * 1e9 }
    }

    /// In a world of one, copies what goes from this rank to itself.
    fn with_itself(&self, work: &Shared) -> Result<()> {
        let copy = |to: DevicePtr, from: DevicePtr, bytes: usize| {
            if bytes == 0 {
                return Ok(());
            }
            // SAFETY: both ranges are the run's, as `together` has checked, and do not overlap: they are two buffers, or
            // the ends of one that is at least three halos long.
            unsafe { self.enqueue_command(Command::CopyOnDevice { to, from, bytes }, None) }
        };
        match work {
            Shared::AllReduce { .. } | Shared::Reduce { .. } | Shared::Broadcast { .. } | Shared::Barrier => {
                Ok(())
            }
            &Shared::AllGather { from, to, bytes } | &Shared::ReduceScatter { from, to, bytes, .. } => {
                copy(to, from, bytes)
            }
            Shared::Messages { sends, receives } => {
                let pairs = sends.iter().zip(receives);
                pairs.into_iter().try_for_each(|(sent, received)| copy(received.at, sent.at, sent.bytes))
            }
        }
    }
}

/// The ranks from which all ranks receive, and those to which they send, if the two fit.
fn matched(
    of: Option<Vec<Option<usize>>>,
    towards: Option<Vec<Option<usize>>>,
    size: usize,
) -> std::result::Result<[Vec<Option<usize>>; 2], String> {
    let inverse = |all: &[Option<usize>], word: &str| {
        let mut inverse = vec![None; size];
        for (rank, other) in all.iter().enumerate() {
            let Some(other) = *other else { continue };
            let Some(place) = inverse.get_mut(other) else {
                return Err(format!("rank {rank} names rank {other}, but there are {size} ranks"));
            };
            if let Some(first) = place.replace(rank) {
                return Err(format!("ranks {first} and {rank} both pass {word} rank {other}"));
            }
        }
        Ok(inverse)
    };
    match (of, towards) {
        (Some(of), None) => {
            let towards = inverse(&of, "from")?;
            Ok([of, towards])
        }
        (None, Some(towards)) => {
            let of = inverse(&towards, "to")?;
            Ok([of, towards])
        }
        (Some(of), Some(towards)) => {
            let expected = inverse(&towards, "to")?;
            inverse(&of, "from")?;
            match (0..size).find(|&rank| of[rank] != expected[rank]) {
                None => Ok([of, towards]),
                Some(rank) => {
                    let named = |rank: Option<usize>| rank.map_or("none".to_owned(), |rank| rank.to_string());
                    Err(format!(
                        "rank {rank} receives from {}, but {} sends to it",
                        named(of[rank]),
                        named(expected[rank])
                    ))
                }
            }
        }
        (None, None) => Err("neither side names a rank".to_owned()),
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
    fn begin(&mut self, chunk: usize, buffers: &[crate::engine::arguments::shape::BufferShape]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ring(size: usize, by: usize) -> Vec<Option<usize>> {
        (0..size).map(|rank| Some((rank + by) % size)).collect()
    }

    #[test]
    fn one_side_of_a_pass_follows_from_the_other() {
        assert_eq!(matched(None, Some(ring(4, 1)), 4), Ok([ring(4, 3), ring(4, 1)]));
        assert_eq!(matched(Some(ring(4, 3)), None, 4), Ok([ring(4, 3), ring(4, 1)]));
        assert_eq!(matched(Some(ring(4, 3)), Some(ring(4, 1)), 4), Ok([ring(4, 3), ring(4, 1)]));
        let line = vec![Some(1), Some(2), None];
        assert_eq!(matched(None, Some(line.clone()), 3), Ok([vec![None, Some(0), Some(1)], line]));
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let why = |of, towards| matched(of, towards, 3).unwrap_err();
        assert_eq!(why(None, Some(vec![Some(1), Some(1), None])), "ranks 0 and 1 both pass to rank 1");
        assert_eq!(why(Some(vec![Some(2), Some(2), None]), None), "ranks 0 and 1 both pass from rank 2");
        assert_eq!(why(None, Some(vec![Some(3), None, None])), "rank 0 names rank 3, but there are 3 ranks");
        assert_eq!(why(Some(ring(3, 1)), Some(ring(3, 1))), "rank 0 receives from 1, but 2 sends to it");
        assert_eq!(why(None, None), "neither side names a rank");
    }
}
