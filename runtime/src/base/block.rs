//! [`Block`]: bytes from the process's allocator, standing in for device memory and page-locked memory.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::slice;

use crate::base::host_copy::first_touch;

/// The bytes that a new block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Bytes `0xFF`: NaN as a float, -1 as an integer, so that a read before the first write shows.
    Poison,
    Zero,
}

/// Blocks above this many bytes are zero whatever the fill. The pages of such blocks, and of all blocks that
/// are to be zero, are untouched: the operating system finds memory for a page only when it is used.
const UNTOUCHED: usize = 256 << 20;

/// One allocation of the process, freed when it is dropped.
#[derive(Debug)]
pub(crate) struct Block {
    base: NonNull<u8>,
    /// `None` for memory of somebody else.
    layout: Option<Layout>,
    start: NonNull<u8>,
}

impl Block {
    /// A block of `bytes` (at least 1) initialised bytes, aligned to `align`, a power of two. `None` if the
    /// allocator has none.
    pub(crate) fn new(bytes: usize, align: usize, fill: Fill) -> Option<Self> {
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
        first_touch::fill(bytes, 0xFF);
        Some(Self { base, layout: Some(layout), start: base })
    }

    /// The allocator clears over-aligned memory by writing it, which would commit every page. So this
    /// allocates memory of ordinary alignment and aligns the start itself.
    fn untouched(bytes: usize, align: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes.checked_add(align)?, align_of::<usize>()).ok()?;
        // SAFETY: the layout's size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let shift = base.align_offset(align).min(align);
        // SAFETY: the allocation is `bytes + align` long, so after the first `shift` bytes there are still
        // `bytes` bytes in it.
        let start = unsafe { base.add(shift) };
        Some(Self { base, layout: Some(layout), start })
    }

    /// Memory of the user's own, which stays the user's.
    ///
    /// # Safety
    /// The memory stays as long as the block, and its provenance is exposed.
    pub(crate) unsafe fn of_another(start: NonNull<u8>) -> Self {
        Self { base: start, layout: None, start }
    }

    /// The first byte. Its provenance is exposed, so an address within the block can be made a pointer again.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start.as_ptr().expose_provenance();
        self.start
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(layout) = self.layout {
            // SAFETY: `base` came from the allocator with this layout and is freed here only.
            unsafe { dealloc(self.base.as_ptr(), layout) };
        }
    }
}

// SAFETY: a block owns its memory; nothing about it belongs to one thread.
unsafe impl Send for Block {}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::base::host_copy::first_touch::PIECE;

    fn bytes(block: &Block, bytes: usize) -> &[u8] {
        assert!(bytes <= block.layout.expect("its own").size());
        // SAFETY: the block has that many bytes, and they are initialised.
        unsafe { slice::from_raw_parts(block.start.as_ptr(), bytes) }
    }

    #[test]
    fn every_byte_is_poisoned() {
        for size in [0, 1, PIECE, PIECE + 1, 2 * PIECE, 9 * PIECE - 1] {
            let block = Block::new(size, 256, Fill::Poison).expect("memory");
            assert!(bytes(&block, size.max(1)).iter().all(|byte| *byte == 0xFF), "{size}");
            assert!(block.start.as_ptr().addr().is_multiple_of(256));
        }
        assert!(Block::new(usize::MAX, 256, Fill::Poison).is_none());
        assert!(Block::new(isize::MAX as usize, 256, Fill::Poison).is_none());
    }

    /// A task of the caller's may hold a lock while it allocates, and the next task waits for that lock.
    #[test]
    fn no_task_of_the_callers_runs_meanwhile() {
        thread_local!(static ALLOCATES: Cell<bool> = const { Cell::new(false) });
        let pool = ThreadPoolBuilder::new().num_threads(4).build().expect("threads");
        pool.scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|_| {
                    assert!(!ALLOCATES.replace(true), "a task runs inside of another");
                    let block = Block::new(8 * PIECE, 256, Fill::Poison).expect("memory");
                    assert!(bytes(&block, 8 * PIECE).iter().all(|byte| *byte == 0xFF));
                    ALLOCATES.set(false);
                });
            }
        });
    }
}
