//! The allocations of a simulated device, in device memory and in page-locked host memory.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fault;
use super::history::{Accessor, Conflict, History};
use super::order::Order;
use crate::base::block::{Block, Fill};
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
}

#[derive(Debug)]
struct Allocation {
    block: Block,
    bytes: usize,
    place: Place,
    /// Whether it belongs to another device, and takes nothing of this device's memory.
    adopted: bool,
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
    device_free: u64,
    pinned_free: u64,
}

impl SimulatedMemory {
    pub(crate) fn new(device: u64, pinned: u64) -> Self {
        Self { allocations: BTreeMap::new(), device_free: device, pinned_free: pinned }
    }

    pub(crate) fn device_free(&self) -> u64 {
        self.device_free
    }

    /// Reserves `bytes`, if that many are free.
    pub(crate) fn reserve(&mut self, call: &'static str, bytes: usize, place: Place) -> DriverResult<()> {
        let free = self.free_bytes(place);
        let cost = cost(bytes, place).filter(|cost| cost <= free);
        let cost = cost.ok_or_else(|| fault::out_of_memory(call, bytes, *free))?;
        *free -= cost;
        Ok(())
    }

    /// Undoes [`reserve`](Self::reserve).
    pub(crate) fn unreserve(&mut self, bytes: usize, place: Place) {
        *self.free_bytes(place) += cost(bytes, place).unwrap_or(0);
    }

    /// Adds an allocation for which the bytes have been reserved.
    pub(crate) fn insert(&mut self, block: Block, bytes: usize, place: Place) {
        self.add(block, bytes, place, false);
    }

    /// Adds page-locked memory of another device.
    pub(crate) fn adopt(&mut self, block: Block, bytes: usize) {
        self.add(block, bytes, Place::Pinned, true);
    }

    fn add(&mut self, block: Block, bytes: usize, place: Place, adopted: bool) {
        let start = block.start().addr().get();
        let history = History::default();
        let allocation =
            Allocation { block, bytes, place, adopted, history, redirected: None, given_up: false };
        self.allocations.insert(start, allocation);
    }

    /// Removes the allocation that begins at `start`, unless the host has not waited for everything that uses
    /// it.
    pub(crate) fn remove(
        &mut self,
        call: &'static str,
        start: usize,
        place: Place,
        order: &Order,
    ) -> DriverResult<Block> {
        let allocation = self.allocations.get_mut(&start).filter(|allocation| allocation.place == place);
        let nothing = || fault::invalid_value(call, format!("nothing is allocated at {start:#x}"));
        let allocation = allocation.ok_or_else(nothing)?;
        let users = allocation.history.users(order);
        if !users.is_empty() {
            allocation.given_up = true;
            return Err(fault::in_use(call, &users));
        }
        let allocation = self.allocations.remove(&start).ok_or_else(nothing)?;
        if !allocation.adopted {
            self.unreserve(allocation.bytes, place);
        }
        Ok(allocation.block)
    }

    /// Notes that the caller has no more use for the allocation that begins there, although it cannot be
    /// freed.
    pub(crate) fn give_up(&mut self, start: usize) {
        if let Some(allocation) = self.allocations.get_mut(&start) {
            allocation.given_up = true;
        }
    }

    /// Checks that the bytes lie in one live allocation.
    pub(crate) fn check(&self, call: &'static str, span: Span) -> DriverResult<()> {
        let Span { start, bytes, place, .. } = span;
        let found = self.allocations.range(..=start).next_back();
        let fits = found.is_some_and(|(first, allocation)| {
            let offset = start - first;
            offset <= allocation.bytes
                && bytes <= allocation.bytes - offset
                && place.is_none_or(|place| place == allocation.place)
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

    fn free_bytes(&mut self, place: Place) -> &mut u64 {
        match place {
            Place::Device => &mut self.device_free,
            Place::Pinned => &mut self.pinned_free,
        }
    }
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
