//! The allocations of a simulated machine, in its devices' memory and in page-locked host memory.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fault;
use super::history::{Accessor, Conflict, History};
use super::order::Order;
use crate::base::block::{Block, Fill};
use crate::base::error::DriverError;
use crate::driver::DriverResult;

/// One of the two memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Device,
    Pinned,
}

impl Place {
    /// The bytes that a new allocation holds.
    pub(crate) fn fill(self) -> Fill {
        match self {
            Self::Device => Fill::Poison,
            Self::Pinned => Fill::Zero,
        }
    }

    /// The alignment of allocations, in bytes.
    pub(crate) fn align(self) -> usize {
        match self {
            Self::Device => 256,
            Self::Pinned => 64,
        }
    }
}

/// Bytes that a command reads or writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub start: usize,
    pub bytes: usize,
    pub write: bool,
    /// The memory that must contain the bytes; `None` accepts both memories.
    pub place: Option<Place>,
    /// The number of the device that must reach the bytes; `None` for the one that carries the command out.
    pub device: Option<usize>,
}

#[derive(Debug)]
struct Allocation {
    block: Block,
    bytes: usize,
    place: Place,
    /// The device that has allocated it, of whose memory it takes some; `None` for a device of another machine.
    owner: Option<usize>,
    /// The devices that have adopted it.
    adopted_by: Vec<usize>,
    history: History,
    /// The destination of copies of the first bytes: its address, and the number of bytes.
    redirected: Option<(usize, usize)>,
    /// Whether the caller has tried to free it too early, and was refused.
    given_up: bool,
}

/// Every live allocation, by address.
#[derive(Debug)]
pub(super) struct SimulatedMemory {
    allocations: BTreeMap<usize, Allocation>,
    /// For each device, the bytes that are free in its memory, and of page-locked memory.
    free: Vec<[u64; 2]>,
}

impl SimulatedMemory {
    /// `free`: for each device, the bytes of its memory, and of page-locked memory.
    pub(crate) fn new(free: Vec<[u64; 2]>) -> Self {
        Self { allocations: BTreeMap::new(), free }
    }

    pub(crate) fn device_free(&self, device: usize) -> u64 {
        self.free[device][0]
    }

    /// Reserves `bytes`, if that many are free.
    pub(crate) fn reserve(
        &mut self,
        call: &'static str,
        device: usize,
        bytes: usize,
        place: Place,
    ) -> DriverResult<()> {
        let free = self.free_bytes(device, place);
        let cost = cost(bytes, place).filter(|cost| cost <= free);
        let cost = cost.ok_or_else(|| fault::out_of_memory(call, bytes, *free))?;
        *free -= cost;
        Ok(())
    }

    /// Undoes [`reserve`](Self::reserve).
    pub(crate) fn unreserve(&mut self, device: usize, bytes: usize, place: Place) {
        *self.free_bytes(device, place) += cost(bytes, place).unwrap_or(0);
    }

    /// Adds an allocation for which the bytes have been reserved.
    pub(crate) fn insert(&mut self, device: usize, block: Block, bytes: usize, place: Place) {
        self.add(block, bytes, place, Some(device), Vec::new());
    }

    /// Lets a device copy from and to page-locked memory of another device.
    pub(crate) fn adopt(&mut self, device: usize, block: Block, bytes: usize) {
        let start = block.start().addr().get();
        match self.allocations.get_mut(&start) {
            Some(allocation) => allocation.adopted_by.push(device),
            None => self.add(block, bytes, Place::Pinned, None, vec![device]),
        }
    }

    fn add(
        &mut self,
        block: Block,
        bytes: usize,
        place: Place,
        owner: Option<usize>,
        adopted_by: Vec<usize>,
    ) {
        let start = block.start().addr().get();
        let (history, redirected, given_up) = (History::default(), None, false);
        let allocation = Allocation { block, bytes, place, owner, adopted_by, history, redirected, given_up };
        self.allocations.insert(start, allocation);
    }

    /// Ends what [`adopt`](Self::adopt) has begun, unless the host has not waited for everything that uses it.
    pub(crate) fn disown(
        &mut self,
        call: &'static str,
        device: usize,
        start: usize,
        order: &Order,
    ) -> DriverResult<()> {
        let allocation = self.allocations.get_mut(&start).filter(|it| it.adopted_by.contains(&device));
        let allocation = allocation.ok_or_else(|| nothing_at(call, start))?;
        let users = allocation.history.users(order);
        if !users.is_empty() {
            allocation.given_up = true;
            return Err(fault::in_use(call, &users));
        }
        allocation.adopted_by.retain(|by| *by != device);
        if allocation.owner.is_none() && allocation.adopted_by.is_empty() {
            self.allocations.remove(&start);
        }
        Ok(())
    }

    /// Removes the allocation that begins at `start`, unless the host has not waited for everything that uses
    /// it.
    pub(crate) fn remove(
        &mut self,
        call: &'static str,
        device: usize,
        start: usize,
        place: Place,
        order: &Order,
    ) -> DriverResult<Block> {
        let is_own = |it: &&mut Allocation| it.place == place && it.owner == Some(device);
        let nothing = || nothing_at(call, start);
        let allocation = self.allocations.get_mut(&start).filter(is_own).ok_or_else(nothing)?;
        let users = allocation.history.users(order);
        if !users.is_empty() {
            allocation.given_up = true;
            return Err(fault::in_use(call, &users));
        }
        let allocation = self.allocations.remove(&start).ok_or_else(nothing)?;
        self.unreserve(device, allocation.bytes, place);
        Ok(allocation.block)
    }

    /// Notes that the caller has no more use for the allocation that begins there, although it cannot be
    /// freed.
    pub(crate) fn give_up(&mut self, start: usize) {
        if let Some(allocation) = self.allocations.get_mut(&start) {
            allocation.given_up = true;
        }
    }

    /// Checks that the bytes lie in one live allocation that the device reaches.
    pub(crate) fn check(&self, call: &'static str, device: usize, span: Span) -> DriverResult<()> {
        let Span { start, bytes, place, .. } = span;
        let found = self.allocations.range(..=start).next_back();
        let fits = found.is_some_and(|(first, allocation)| {
            let offset = start - first;
            offset <= allocation.bytes
                && bytes <= allocation.bytes - offset
                && place.is_none_or(|place| place == allocation.place)
                && allocation.is_reached_by(device)
        });
        if fits {
            return Ok(());
        }
        let memory = match place {
            Some(Place::Device) => "device memory",
            Some(Place::Pinned) => "pinned host memory",
            None => "memory",
        };
        let description = format!("{bytes} bytes at {start:#x} do not lie within one allocation of {memory}");
        Err(fault::invalid_value(call, description))
    }

    /// Whether an address that [`check`](Self::check) has accepted is in page-locked host memory.
    pub(crate) fn is_pinned(&self, start: usize) -> bool {
        let found = self.allocations.range(..=start).next_back();
        found.is_some_and(|(_, allocation)| allocation.place == Place::Pinned)
    }

    /// Notes an access that [`check`](Self::check) has accepted. Returns the earlier access that it races
    /// with, if there is one.
    pub(crate) fn access(&mut self, order: &Order, span: Span, accessor: Accessor) -> Option<Conflict> {
        let bytes = Range { start: span.start, end: span.start + span.bytes };
        let (_, allocation) = self.allocations.range_mut(..=span.start).next_back()?;
        allocation.history.access(order, bytes, span.write, accessor)
    }

    /// Redirects copies of a page-locked allocation's first bytes, or ends that; `false` if there is no such
    /// allocation.
    pub(crate) fn redirect(&mut self, pinned: usize, to: Option<(usize, usize)>) -> bool {
        let allocation = self.allocations.get_mut(&pinned).filter(|a| a.place == Place::Pinned);
        allocation.map(|allocation| allocation.redirected = to).is_some()
    }

    /// The destination of a copy of bytes that [`check`](Self::check) has accepted.
    pub(crate) fn destination(&self, start: usize, bytes: usize) -> usize {
        let found = self.allocations.range(..=start).next_back();
        let elsewhere = found.and_then(|(first, allocation)| {
            let (to, length) = allocation.redirected?;
            let offset = start - first;
            (offset <= length && bytes <= length - offset).then_some(to + offset)
        });
        elsewhere.unwrap_or(start)
    }

    /// Forgets all accesses, since the host has waited for everything.
    pub(crate) fn forget_accesses(&mut self) {
        for allocation in self.allocations.values_mut() {
            allocation.history.clear();
        }
    }

    fn free_bytes(&mut self, device: usize, place: Place) -> &mut u64 {
        let [of_device, pinned] = &mut self.free[device];
        match place {
            Place::Device => of_device,
            Place::Pinned => pinned,
        }
    }
}

impl Allocation {
    /// Whether a device's commands may access it.
    fn is_reached_by(&self, device: usize) -> bool {
        self.owner == Some(device) || self.adopted_by.contains(&device)
    }
}

fn nothing_at(call: &'static str, start: usize) -> Box<DriverError> {
    fault::invalid_value(call, format!("nothing is allocated at {start:#x}"))
}

impl Drop for SimulatedMemory {
    fn drop(&mut self) {
        for (_, allocation) in std::mem::take(&mut self.allocations) {
            // Page-locked memory that the caller never freed may still be used by the caller as ordinary
            // memory.
            if allocation.place == Place::Pinned && !allocation.given_up {
                std::mem::forget(allocation.block);
            }
        }
    }
}

/// The bytes of memory that an allocation takes: whole units of its alignment.
fn cost(bytes: usize, place: Place) -> Option<u64> {
    Some(bytes.max(1).checked_next_multiple_of(place.align())? as u64)
}
