//! How much memory a thread has.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[global_allocator]
static COUNTING: Counting = Counting;

/// The system's memory, counted by the thread that asks for it.
struct Counting;

thread_local! {
    /// The bytes that this thread has asked for and not given back. Bytes that others give back for it still
    /// count, and bytes that it gives back for others are subtracted, also below 0.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// The most that it has been since somebody set it.
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // Neither has a destructor, so they are there until the thread ends.
    HELD.set(HELD.get() + bytes);
    MOST.set(MOST.get().max(HELD.get()));
}

// SAFETY: every call goes to `System` as it came, whose promises are those of this trait. Counting allocates
// nothing and does not panic: the sums are of what fits into memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(at, layout, size) }
    }
}

/// The result of `work`, and by how many bytes the thread's memory exceeded meanwhile what it had before.
pub(super) fn most<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.get();
    MOST.set(before);
    let result = work();
    (result, (MOST.get() - before).max(0) as usize)
}
