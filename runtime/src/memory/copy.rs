//! CPU copies on several threads.

use rayon::prelude::*;

/// What one CPU thread copies at a time. Smaller copies are not worth a second thread.
const PIECE: usize = 256 << 10;

/// Copies on several threads; done when it returns.
///
/// # Safety
/// As `copy_nonoverlapping`.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, bytes: usize) {
    if bytes <= PIECE {
        // SAFETY: the caller's promise.
        return unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
    }
    let (to, from) = (Shared(to), Shared(from.cast_mut()));
    (0..bytes.div_ceil(PIECE)).into_par_iter().for_each(|piece| {
        let start = piece * PIECE;
        // SAFETY: pieces are disjoint and within `bytes`; the rest is the caller's promise. `for_each` returns when all
        // are done.
        unsafe {
            std::ptr::copy_nonoverlapping(
                from.get().add(start),
                to.get().add(start),
                PIECE.min(bytes - start),
            );
        }
    });
}

/// A pointer that rayon's threads may have.
#[derive(Clone, Copy)]
struct Shared(*mut u8);

impl Shared {
    fn get(self) -> *mut u8 {
        self.0
    }
}

// SAFETY: see `copy`, its only user: each thread accesses its own piece.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}
