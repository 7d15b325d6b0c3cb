//! Page-locked memory, and its first touch.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::slice;

use crate::backends::cuda::sys;

use super::api::{self, Api};
use crate::base::host_copy::first_touch;
use crate::driver::DriverResult;

/// The alignment that [`Driver`](crate::driver::Driver) promises, in bytes.
const ALIGNMENT: usize = 64;

/// Allocates `bytes`, at least 1, all of them zero. The context is current. Write-combined pages are slow to
/// read.
pub(super) fn allocate(api: &Api, bytes: usize, write_combined: bool) -> DriverResult<NonNull<u8>> {
    let mut ptr: *mut c_void = ptr::null_mut();
    // Under unified addressing all page-locked memory is mapped, with or without the flag. It is portable,
    // because a buffer may be used by pipelines on several GPUs.
    let combined = sys::CU_MEMHOSTALLOC_WRITECOMBINED | sys::CU_MEMHOSTALLOC_DEVICEMAP;
    let flags = if write_combined { combined } else { 0 };
    // SAFETY: `ptr` is a place for the result, and the context is current.
    unsafe { api.cuMemHostAlloc(&mut ptr, bytes, flags | sys::CU_MEMHOSTALLOC_PORTABLE) }?;
    let memory = match NonNull::new(ptr.cast::<u8>()) {
        Some(memory) if ptr.addr().is_multiple_of(ALIGNMENT) => memory,
        // Allocations start at a page in all known drivers, but the manual does not promise it.
        _ => {
            // SAFETY: the allocation is this call's own and unused.
            let _ = unsafe { api.cuMemFreeHost(ptr) };
            return Err(api.error("cuMemHostAlloc", api::MISALIGNED_ADDRESS));
        }
    };
    if write_combined && let Err(error) = has_same_address(api, memory) {
        // SAFETY: the allocation is this call's own and unused.
        let _ = unsafe { api.cuMemFreeHost(ptr) };
        return Err(error);
    }
    // CUDA does not say what fresh page-locked memory holds.
    // SAFETY: the allocation has this size and is this call's own; its bytes need no value yet.
    first_touch::fill(
        unsafe { slice::from_raw_parts_mut(memory.as_ptr().cast::<MaybeUninit<u8>>(), bytes) },
        0,
    );
    Ok(memory)
}

/// Whether the memory has the same address on the device and on the host. Unified addressing makes exceptions
/// of write-combined pages and of registered ones.
pub(super) fn has_same_address(api: &Api, memory: NonNull<u8>) -> DriverResult<()> {
    let mut device = 0;
    // SAFETY: the memory is page-locked and mapped, `device` is a place for the result, and the context is
    // current.
    unsafe { api.cuMemHostGetDevicePointer_v2(&mut device, memory.as_ptr().cast(), 0) }?;
    if device == memory.addr().get() as u64 {
        Ok(())
    } else {
        Err(api.error("cuMemHostGetDevicePointer", api::NOT_SUPPORTED))
    }
}
