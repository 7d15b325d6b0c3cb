//! Collective operations: what this rank does together with all others.
//!
//! Each enqueues one command on the device's communicator, or, in a world of one, copies what goes from this rank to
//! itself. Where this rank has fewer items than others, the missing ones are filled in before: with the element that
//! changes nothing in a reduction, and with zeros in what is moved.

use bytemuck::Pod;

use crate::base::collective::{self, CollectiveKind, Path, Reduction, neutral};
use crate::base::error::{Detail, RanksDetail, Result};
use crate::base::plan::Memory;
use crate::driver::collective::{Message, RawCollective, Shared};
use crate::driver::{Access, Command, DevicePtr};
use crate::engine::run::operands::Operand;
use crate::engine::run::operation::Operation;
use crate::engine::run::peers::{EachRank, Peer, matched};
use crate::engine::targets::what::{HostPart, What};
use crate::observe::timeline::Engine;

impl Operation<'_> {
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
