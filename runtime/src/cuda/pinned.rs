//! Page-locked memory, and its first touch.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;

use cudarc::driver::sys;

use super::api::{self, Api};
use crate::driver::DriverResult;
use crate::memory::first_touch;

/// What [`Driver`](crate::driver::Driver) promises, in bytes.
const ALIGNMENT: usize = 64;

/// Allocates `bytes`, at least 1, all of them zero. The context is current. Write-combined pages are slow to read.
pub(super) fn allocate(api: &Api, bytes: usize, write_combined: bool) -> DriverResult<NonNull<u8>> {
    let mut ptr: *mut c_void = ptr::null_mut();
    // Under unified addressing all of it is mapped, asked for or not. Portable, because a buffer may be handed to pipelines on
    // several GPUs.
    let flags = if write_combined { sys::CU_MEMHOSTALLOC_WRITECOMBINED } else { 0 };
    // SAFETY: `ptr` is a place for the result, and the context is current.
    unsafe { api.cuMemHostAlloc(&mut ptr, bytes, flags | sys::CU_MEMHOSTALLOC_PORTABLE) }?;
    let memory = match NonNull::new(ptr.cast::<u8>()) {
        Some(memory) if ptr.addr().is_multiple_of(ALIGNMENT) => memory,
        // Allocations start at a page in all drivers known, but the manual does not promise it.
        _ => {
            // SAFETY: the allocation is this call's own and unused.
            let _ = unsafe { api.cuMemFreeHost(ptr) };
            return Err(api.error("cuMemHostAlloc", api::MISALIGNED_ADDRESS));
        }
    };
    // CUDA does not say what fresh page-locked memory holds.
    // SAFETY: the allocation has this size and is this call's own; its bytes need no value yet.
    first_touch::fill(
        unsafe { slice::from_raw_parts_mut(memory.as_ptr().cast::<MaybeUninit<u8>>(), bytes) },
        0,
    );
    Ok(memory)
}
