//! The simulated device checks the promise of `Out<[T]>` that a kernel writes every element.
//!
//! A host body writes through plain slices, which record nothing. So the device fills the memory that the
//! kernel promises to write with a pattern that no kernel can know, and then calls the body. An element that
//! still has the pattern was not written, or was written with just these bytes, which happens to one element
//! of four bytes in 2^32. So the body is called again with other patterns, until an element has kept 64 bits
//! of them, which only an unwritten element does. The further calls' effects on memory are undone. Correct
//! kernels are rarely called again: elements of fewer than four bytes, which have the pattern by chance now
//! and then, count only if several in a row have it.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use super::random::mixed;
use crate::base::error::Unwritten;
use crate::base::threads::Grid;
use crate::base::unwind::drop_payload;
use crate::driver::{Access, HostBody};

// Note 45: elements that a body has not written are found by a pattern.
/// The number of bytes in a pattern, which is repeated.
const WORD: usize = size_of::<u64>();

/// The smallest number of bytes in a row with the pattern that are suspected to be unwritten.
const SUSPICIOUS: usize = size_of::<u32>();

/// Memory that a kernel has promised to write in full, every element.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Promise {
    parameter: &'static str,
    access: Access,
    /// The size of an element, in bytes.
    element: usize,
    /// Whether each thread of the kernel has elements of its own, as in Rust.
    by_threads: bool,
}

impl Promise {
    pub(crate) fn new(parameter: &'static str, access: Access, element: usize) -> Self {
        Self { parameter, access, element, by_threads: false }
    }

    /// That of a kernel in Rust, whose threads have elements of their own.
    pub(crate) fn by_threads(self) -> Self {
        Self { by_threads: true, ..self }
    }
}

impl Promise {
    /// The finding if these elements were not written; `None` if there are none.
    fn broken(&self, ranges: &[Range<usize>], grid: Grid) -> Option<Unwritten> {
        let Self { parameter, access, element, by_threads } = *self;
        let unwritten = ranges.iter().map(ExactSizeIterator::len).sum();
        Some(Unwritten {
            parameter,
            elements: access.bytes / element,
            unwritten,
            first: ranges.first()?.start,
            grid,
            by_threads,
        })
    }
}

thread_local! {
    /// The finding of the host body that this thread has called.
    static FOUND: Cell<Option<Unwritten>> = const { Cell::new(None) };

    /// Whether this thread wants to know whether its host bodies keep their promises.
    static IS_ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Calls a host body, and returns what it has promised to write and has not. If it panics, so does this.
pub(crate) fn asked(body: impl FnOnce()) -> Option<Unwritten> {
    struct Asked(bool);
    impl Drop for Asked {
        fn drop(&mut self) {
            IS_ASKED.set(self.0);
        }
    }
    let _asked = Asked(IS_ASKED.replace(true));
    FOUND.set(None);
    body();
    FOUND.take()
}

/// Boxes the work of a launch on the host, for a kernel that promises to write all of `promises`. `accesses`
/// is all the memory that it may access, including `promises`. The simulated device alone asks whether the
/// promises are kept; elsewhere this is the body.
///
/// # Safety
/// It is used on devices whose memory is the host's, which call the body while they execute the launch that
/// all arguments were made for. `body` may be called more than once, and stays within `accesses`.
#[doc(hidden)]
pub unsafe fn whole_body(
    grid: Grid,
    promises: &[Promise],
    accesses: &[Access],
    body: impl Fn() + Send + 'static,
) -> HostBody {
    let of_something = |promise: &&Promise| promise.access.bytes > 0;
    let promises: Vec<Promise> = promises.iter().filter(of_something).copied().collect();
    let written = accesses.iter().filter(|access| access.write && access.bytes > 0);
    let written: Vec<Access> = written.copied().collect();
    Box::new(move || {
        if !IS_ASKED.get() {
            return body();
        }
        // SAFETY: the caller's promise.
        let found = unsafe { call(&promises, &written, &body) };
        let mut found = promises.iter().zip(&found);
        FOUND.set(found.find_map(|(promise, ranges)| promise.broken(ranges, grid)));
    })
}

/// Calls the body, and returns for each promise the elements that the body has not written.
///
/// # Safety
/// As [`whole_body`].
unsafe fn call(promises: &[Promise], written: &[Access], body: &impl Fn()) -> Vec<Vec<Range<usize>>> {
    // SAFETY: the caller's promise, for all that follows. The slices are gone before the body is called.
    let matching =
        |promise: &Promise, pattern| unsafe { matching(bytes(promise.access), promise.element, pattern) };
    let fill = |pattern: u64| {
        for promise in promises {
            // SAFETY: as above.
            poison(unsafe { bytes(promise.access) }, pattern);
        }
    };
    let first = pattern();
    fill(first);
    body();
    let is_suspicious = |promise: &Promise| {
        // SAFETY: as above.
        may_have(unsafe { bytes(promise.access) }, first)
    };
    let mut found: Vec<Vec<Range<usize>>> = promises
        .iter()
        .map(|promise| if is_suspicious(promise) { matching(promise, first) } else { Vec::new() })
        .collect();
    for (ranges, promise) in found.iter_mut().zip(promises) {
        ranges.retain(|range| range.len() * promise.element >= SUSPICIOUS);
    }
    if found.iter().all(Vec::is_empty) {
        return found;
    }
    let copied = |access: &Access| {
        // SAFETY: as above.
        unsafe { bytes(*access) }.to_vec()
    };
    let result: Vec<Vec<u8>> = written.iter().map(copied).collect();
    let mut round = 1;
    while found
        .iter()
        .zip(promises)
        .any(|(ranges, promise)| !ranges.is_empty() && round * promise.element < WORD)
    {
        round += 1;
        let again = pattern();
        fill(again);
        let called = catch_unwind(AssertUnwindSafe(body));
        for (ranges, promise) in found.iter_mut().zip(promises) {
            *ranges = match &called {
                Ok(()) => common(ranges, &matching(promise, again)),
                // A body may panic when it finds its own results. Then nothing is known.
                Err(_) => Vec::new(),
            };
        }
        for (access, result) in written.iter().zip(&result) {
            // SAFETY: as above.
            unsafe { bytes(*access) }.copy_from_slice(result);
        }
        if let Err(payload) = called {
            drop_payload(payload);
        }
    }
    found
}

/// # Safety
/// As [`whole_body`], and no other slice of the memory is in use.
unsafe fn bytes<'a>(access: Access) -> &'a mut [u8] {
    // SAFETY: the caller's promise: the access is one of a launch that the simulated device executes, and was
    // checked to lie in one live, initialised allocation when it was enqueued.
    unsafe { std::slice::from_raw_parts_mut(access.ptr.host(), access.bytes) }
}

/// A pattern that has not been used before.
fn pattern() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    mixed(NEXT.fetch_add(1, Ordering::Relaxed))
}

fn poison(bytes: &mut [u8], pattern: u64) {
    let pattern = pattern.to_ne_bytes();
    let (words, rest) = bytes.as_chunks_mut::<WORD>();
    words.fill(pattern);
    rest.copy_from_slice(&pattern[..rest.len()]);
}

/// Whether four bytes in a row, at a multiple of four, have the pattern. It takes one pass, and usually
/// nothing follows.
fn may_have(bytes: &[u8], pattern: u64) -> bool {
    const PIECE: usize = 1 << 12;
    let halves = |word: u64| (word as u32 == 0) | (word >> 32 == 0);
    let half = pattern.to_ne_bytes();
    bytes.chunks(PIECE).any(|piece| {
        let (words, rest) = piece.as_chunks::<WORD>();
        let words = words.iter().fold(false, |any, word| any | halves(u64::from_ne_bytes(*word) ^ pattern));
        words || (rest.len() >= SUSPICIOUS && rest[..SUSPICIOUS] == half[..SUSPICIOUS])
    })
}

/// The runs of elements that have the pattern.
fn matching(bytes: &[u8], element: usize, pattern: u64) -> Vec<Range<usize>> {
    let pattern = pattern.to_ne_bytes();
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, value) in bytes.chunks_exact(element).enumerate() {
        let at = index * element;
        if value.iter().enumerate().all(|(byte, &value)| value == pattern[(at + byte) % WORD]) {
            match runs.last_mut().filter(|run| run.end == index) {
                Some(run) => run.end += 1,
                None => runs.push(index..index + 1),
            }
        }
    }
    runs
}

/// The intersection of both.
fn common(one: &[Range<usize>], other: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut both = Vec::new();
    let mut other = other.iter().peekable();
    for range in one {
        while let Some(next) = other.peek() {
            let (start, end) = (range.start.max(next.start), range.end.min(next.end));
            if start < end {
                both.push(start..end);
            }
            if next.end > range.end {
                break;
            }
            other.next();
        }
    }
    both
}

#[cfg(test)]
mod tests;
