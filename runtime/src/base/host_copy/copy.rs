//! CPU copies.

/// How a copy uses the CPU's caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Copies as `memcpy` does. Written data may stay in the cache, where a device can read it.
    Cached,
    /// Writes go to memory, and nothing is read for them. This is for data that are larger than the cache.
    PastCache,
}

/// Copies on this thread.
///
/// # Safety
/// As `copy_nonoverlapping`.
pub(crate) unsafe fn copy_with(way: Way, to: *mut u8, from: *const u8, bytes: usize) {
    match way {
        // SAFETY: the caller's promise.
        Way::Cached => unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) },
        // SAFETY: as above.
        Way::PastCache => unsafe { copy_past_cache(to, from, bytes) },
    }
}

/// # Safety
/// As `copy_nonoverlapping`.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_past_cache(to: *mut u8, from: *const u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    /// A cache line.
    const LINE: usize = 64;
    const WORD: usize = size_of::<__m128i>();
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: head, lines and tail are the whole range and no more. Every Intel and AMD processor of 64 bits
    // has these instructions, and the lines of `to` are aligned. The fence orders these writes like any
    // others.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        for line in 0..lines {
            let at = head + line * LINE;
            let word = |index: usize| _mm_loadu_si128(from.add(at + index * WORD).cast());
            let words = [word(0), word(1), word(2), word(3)];
            for (index, word) in words.into_iter().enumerate() {
                _mm_stream_si128(to.add(at + index * WORD).cast(), word);
            }
        }
        _mm_sfence();
        std::ptr::copy_nonoverlapping(from.add(tail), to.add(tail), bytes - tail);
    }
}

/// # Safety
/// As `copy_nonoverlapping`.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_past_cache(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
}
