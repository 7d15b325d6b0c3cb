//! Page-locked memory, and its first touch.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;

use cudarc::driver::sys;
use rayon::prelude::*;

use super::api::{self, Api};
use crate::driver::DriverResult;

/// What [`Driver`](crate::driver::Driver) promises, in bytes.
const ALIGNMENT: usize = 64;

/// What one thread writes at a time; allocations up to this size are written by the calling thread alone.
const PIECE: usize = 4 << 20;

/// Allocates `bytes`, at least 1, all of them zero. The context is current.
pub(super) fn allocate(api: &Api, bytes: usize) -> DriverResult<NonNull<u8>> {
    let mut ptr: *mut c_void = ptr::null_mut();
    // Plain pages: write-combined ones are slow to read, mapped ones are not asked for. Portable, because a buffer may
    // be handed to pipelines on several GPUs.
    // SAFETY: `ptr` is a place for the result, and the context is current.
    unsafe { api.cuMemHostAlloc(&mut ptr, bytes, sys::CU_MEMHOSTALLOC_PORTABLE) }?;
    let memory = match NonNull::new(ptr.cast::<u8>()) {
        Some(memory) if ptr.addr().is_multiple_of(ALIGNMENT) => memory,
        // Allocations start at a page in all drivers known, but the manual does not promise it.
        _ => {
            // SAFETY: the allocation is this call's own and unused.
            let _ = unsafe { api.cuMemFreeHost(ptr) };
            return Err(api.error("cuMemHostAlloc", api::MISALIGNED_ADDRESS));
        }
    };
    // SAFETY: the allocation has this size and is this call's own; its bytes need no value yet.
    clear(unsafe { slice::from_raw_parts_mut(memory.as_ptr().cast::<MaybeUninit<u8>>(), bytes) });
    Ok(memory)
}

/// Writes zeros to all of it: CUDA does not say what fresh page-locked memory holds.
///
/// Large allocations are written by all cores, since one core writes slower than memory takes it.
fn clear(memory: &mut [MaybeUninit<u8>]) {
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
