//! The allocations of the CPU as a device: device memory and page-locked memory are both the host's.

use std::collections::BTreeMap;
use std::ops::Range;

use super::machine;
use crate::base::block::{Block, Fill};
use crate::driver::{DevicePtr, DriverResult, fault};

/// One of the two memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Device,
    Pinned,
}

impl Place {
    /// The alignment of allocations, in bytes.
    fn align(self) -> usize {
        match self {
            Self::Device => 256,
            Self::Pinned => 64,
        }
    }
}

/// Bytes that a command accesses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub start: usize,
    pub bytes: usize,
    /// The memory that must contain the bytes; `None` accepts both.
    pub place: Option<Place>,
}

#[derive(Debug)]
struct Allocation {
    block: Block,
    bytes: usize,
    place: Place,
    /// Whether it is memory of somebody else, of which nothing is counted here.
    is_foreign: bool,
    /// Where copies of the first bytes go instead: an address, and the number of bytes.
    redirected: Option<(usize, usize)>,
    /// Whether the caller has tried to free it too early, and was refused.
    given_up: bool,
}

/// Every live allocation, by address.
#[derive(Debug)]
pub(super) struct Allocations {
    all: BTreeMap<usize, Allocation>,
    /// Memory of the host that commands use as device memory.
    lent: Vec<Range<usize>>,
    /// The largest number of bytes at once, and how many there are.
    most: u64,
    taken: u64,
}

/// Allocations of at least so many bytes ask the system first whether it has them. Until they are touched it
/// gives them in any case.
const LARGE: usize = 64 << 20;

/// The zeroed bytes of a new allocation. It is made without a lock, since it may take a while.
pub(super) fn block(bytes: usize, place: Place) -> Option<Block> {
    if bytes >= LARGE && machine::available().is_some_and(|available| bytes as u64 > available) {
        return None;
    }
    Block::new(bytes, place.align(), Fill::Zero)
}

impl Allocations {
    pub(super) fn new(most: u64) -> Self {
        Self { all: BTreeMap::new(), lent: Vec::new(), most, taken: 0 }
    }

    /// Bytes that are not taken.
    pub(super) fn free(&self) -> u64 {
        self.most - self.taken
    }

    /// Counts the bytes of an allocation to come.
    pub(super) fn reserve(&mut self, call: &'static str, bytes: usize) -> DriverResult<()> {
        if bytes as u64 > self.free() {
            return Err(fault::out_of_memory(call, bytes, self.free()));
        }
        self.taken += bytes as u64;
        Ok(())
    }

    /// Undoes [`reserve`](Self::reserve).
    pub(super) fn unreserve(&mut self, bytes: usize) {
        self.taken -= bytes as u64;
    }

    /// Adds an allocation whose bytes are reserved.
    pub(super) fn insert(&mut self, block: Block, bytes: usize, place: Place) {
        self.add(block, bytes, place, false);
    }

    /// Adds memory of somebody else, which is page-locked memory from now on.
    pub(super) fn adopt(&mut self, block: Block, bytes: usize) {
        self.add(block, bytes, Place::Pinned, true);
    }

    fn add(&mut self, block: Block, bytes: usize, place: Place, is_foreign: bool) {
        let start = block.start().addr().get();
        let allocation = Allocation { block, bytes, place, is_foreign, redirected: None, given_up: false };
        self.all.insert(start, allocation);
    }

    /// The bytes of the allocation that begins there.
    pub(super) fn find(&self, call: &'static str, start: usize, place: Place) -> DriverResult<Span> {
        match self.all.get(&start).filter(|allocation| allocation.place == place) {
            Some(allocation) => Ok(Span { start, bytes: allocation.bytes, place: Some(place) }),
            None => Err(fault::invalid_value(call, format!("nothing is allocated at {start:#x}"))),
        }
    }

    /// Removes the allocation that begins there, which nothing uses.
    pub(super) fn remove(&mut self, start: usize) -> Option<Block> {
        let allocation = self.all.remove(&start)?;
        if !allocation.is_foreign {
            self.unreserve(allocation.bytes);
        }
        Some(allocation.block)
    }

    /// Notes that the caller has no more use for the allocation that begins there, although it cannot be
    /// freed.
    pub(super) fn give_up(&mut self, start: usize) {
        if let Some(allocation) = self.all.get_mut(&start) {
            allocation.given_up = true;
        }
    }

    /// Lets commands use memory of the host as device memory.
    pub(super) fn lend(&mut self, memory: Range<usize>) {
        self.lent.push(memory);
    }

    /// Ends it. The same memory may have been lent twice.
    pub(super) fn take_back(&mut self, memory: &Range<usize>) {
        if let Some(at) = self.lent.iter().position(|lent| lent == memory) {
            self.lent.swap_remove(at);
        }
    }

    /// Checks that the bytes lie in one live allocation, or in memory that was lent.
    pub(super) fn check(&self, call: &'static str, span: Span) -> DriverResult<()> {
        let Span { start, bytes, place } = span;
        let found = self.all.range(..=start).next_back();
        let fits = found.is_some_and(|(first, allocation)| {
            let offset = start - first;
            offset <= allocation.bytes
                && bytes <= allocation.bytes - offset
                && place.is_none_or(|place| place == allocation.place)
        });
        let is_lent = || {
            let holds = |lent: &Range<usize>| lent.start <= start && bytes <= lent.end.saturating_sub(start);
            !matches!(place, Some(Place::Pinned)) && self.lent.iter().any(holds)
        };
        if fits || is_lent() {
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

    /// Redirects copies of a page-locked allocation's first bytes, or ends that; `false` if there is no such
    /// allocation.
    pub(super) fn redirect(&mut self, pinned: usize, to: Option<(usize, usize)>) -> bool {
        let allocation = self.all.get_mut(&pinned).filter(|allocation| allocation.place == Place::Pinned);
        allocation.map(|allocation| allocation.redirected = to).is_some()
    }

    /// Where a copy of bytes that [`check`](Self::check) has accepted really goes, or comes from.
    pub(super) fn resolved(&self, start: usize, bytes: usize) -> usize {
        let found = self.all.range(..=start).next_back();
        let elsewhere = found.and_then(|(first, allocation)| {
            let (to, length) = allocation.redirected?;
            let offset = start - first;
            (offset <= length && bytes <= length - offset).then_some(to + offset)
        });
        elsewhere.unwrap_or(start)
    }
}

impl Drop for Allocations {
    fn drop(&mut self) {
        for (_, allocation) in std::mem::take(&mut self.all) {
            // Page-locked memory that the caller never freed may still be used by the caller as ordinary
            // memory.
            if allocation.place == Place::Pinned && !allocation.given_up {
                std::mem::forget(allocation.block);
            }
        }
    }
}

/// The address in this process, since device memory is memory of this process.
pub(super) fn address(ptr: DevicePtr) -> usize {
    ptr.0 as usize
}
