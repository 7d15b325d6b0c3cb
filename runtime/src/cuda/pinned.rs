//! The first touch of page-locked memory.

use std::mem::MaybeUninit;

use rayon::prelude::*;

/// What one thread writes at a time; allocations up to this size are written by the calling thread alone.
const PIECE: usize = 4 << 20;

/// Writes zeros to all of it: CUDA does not say what fresh page-locked memory holds.
///
/// Large allocations are written by all cores, since one core writes slower than memory takes it.
pub(super) fn clear(memory: &mut [MaybeUninit<u8>]) {
    if memory.len() <= PIECE {
        memory.fill(MaybeUninit::new(0));
    } else {
        memory.par_chunks_mut(PIECE).for_each(|piece| piece.fill(MaybeUninit::new(0)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_written() {
        for bytes in [1, PIECE, 2 * PIECE + 3] {
            let mut memory = vec![MaybeUninit::new(0xa5_u8); bytes];
            clear(&mut memory);
            // SAFETY: the vector was made of initialised bytes.
            assert!(memory.iter().all(|byte| unsafe { byte.assume_init() } == 0));
        }
    }
}
