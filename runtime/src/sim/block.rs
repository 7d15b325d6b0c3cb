//! [`Block`]: bytes from the process's allocator, standing in for device memory and pinned memory.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use rayon::prelude::*;

/// What a new block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    /// Bytes `0xFF`: NaN as a float, -1 as an integer, so that what is read before it is written shows.
    Poison,
    Zero,
}

/// Blocks above this many bytes are zero whatever the fill. The pages of such blocks, and of all that are to be zero, are
/// untouched: the operating system finds memory for them only where they are used, as far as they are used.
const UNTOUCHED: usize = 256 << 20;

/// What one thread poisons at a time. That finds memory for the pages, too, which takes longer than writing them.
const PIECE: usize = 1 << 20;

/// One allocation of the process, freed when it is dropped.
#[derive(Debug)]
pub(super) struct Block {
    base: NonNull<u8>,
    layout: Layout,
    start: NonNull<u8>,
}

impl Block {
    /// `bytes` (at least 1) initialised bytes, aligned to `align`, a power of two. `None` where the allocator has none.
    pub fn new(bytes: usize, align: usize, fill: Fill) -> Option<Self> {
        if bytes > UNTOUCHED || fill == Fill::Zero {
            Self::untouched(bytes, align)
        } else {
            Self::poisoned(bytes, align)
        }
    }

    fn poisoned(bytes: usize, align: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.max(1), align).ok()?;
        // SAFETY: the layout's size is not 0.
        let base = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: `base` is a new allocation of that many bytes, which need no value yet.
        let bytes =
            unsafe { slice::from_raw_parts_mut(base.as_ptr().cast::<MaybeUninit<u8>>(), layout.size()) };
        let poison = MaybeUninit::new(0xFF);
        if bytes.len() > PIECE {
            bytes.par_chunks_mut(PIECE).for_each(|piece| piece.fill(poison));
        } else {
            bytes.fill(poison);
        }
        Some(Self { base, layout, start: base })
    }

    /// The allocator clears over-aligned memory by writing it, which would commit every page. So this asks for ordinary
    /// alignment and aligns the start by hand.
    fn untouched(bytes: usize, align: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.checked_add(align)?, align_of::<usize>()).ok()?;
        // SAFETY: the layout's size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let shift = base.align_offset(align).min(align);
        // SAFETY: the allocation is `bytes + align` long, so `shift` bytes further on are still `bytes` bytes in it.
        let start = unsafe { base.add(shift) };
        Some(Self { base, layout, start })
    }

    /// The first byte. Its provenance is exposed, so an address within the block can be made a pointer again.
    pub fn start(&self) -> NonNull<u8> {
        self.start.as_ptr().expose_provenance();
        self.start
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `base` came from the allocator with this layout and is freed here only.
        unsafe { dealloc(self.base.as_ptr(), self.layout) };
    }
}

// SAFETY: a block owns its memory; nothing about it belongs to one thread.
unsafe impl Send for Block {}
