//! Writing fresh memory for the first time.

use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::CORES;

// Note 22: pages are placed by their first touch.
/// The bytes that one thread writes at a time. Finding memory for the pages is part of it and takes longer
/// than the writing.
pub(crate) const PIECE: usize = 1 << 20;

/// The largest number of threads. The operating system finds memory for fewer at the same time.
const MOST: usize = 16;

/// Writes `value` to all of `bytes`, on all cores if there are many bytes: one core writes slower than memory
/// takes it.
///
/// It does not use rayon's threads: one that waits there would run another task of the caller's meanwhile,
/// which may want a lock that this thread holds.
pub(crate) fn fill(bytes: &mut [MaybeUninit<u8>], value: u8) {
    let threads = (*CORES).min(MOST).min(bytes.len() / PIECE);
    let pieces = Mutex::new(bytes.chunks_mut(PIECE));
    let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(piece) = next() {
            piece.fill(MaybeUninit::new(value));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // If the system gives no thread, the others do its part.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_written() {
        for bytes in [0, 1, PIECE, 2 * PIECE + 3, 9 * PIECE - 1] {
            let mut memory = vec![MaybeUninit::new(0xa5_u8); bytes];
            fill(&mut memory, 7);
            // SAFETY: the vector was made of initialised bytes.
            assert!(memory.iter().all(|byte| unsafe { byte.assume_init() } == 7));
        }
    }
}
