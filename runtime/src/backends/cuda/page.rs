//! Pages of page-locked memory, in words that the host and the device write.

use std::ffi::c_void;
use std::ptr;

use super::api::Api;
use super::sys::{self, CUdeviceptr};
use crate::base::sync::AtomicU32;
use crate::driver::DriverResult;

/// The size of a page, in bytes: enough words for most programs.
const PAGE: usize = 4096;

/// One word, by its address on either side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// The address on the host, within a page. Its provenance is exposed.
    host: usize,
    pub(super) device: CUdeviceptr,
}

impl Word {
    /// The word of a page at these addresses.
    pub(super) fn at(host: usize, device: CUdeviceptr) -> Self {
        Self { host, device }
    }

    pub(super) fn host(self) -> usize {
        self.host
    }

    /// The word as the host accesses it.
    ///
    /// # Safety
    /// The page is not freed as long as the reference exists.
    pub(super) unsafe fn atomic<'a>(self) -> &'a AtomicU32 {
        let host = ptr::with_exposed_provenance_mut::<u32>(self.host);
        // SAFETY: the word is aligned, and by the caller's promise it lies in a live page. The host accesses
        // it only atomically, and the device writes it as a whole.
        unsafe { AtomicU32::from_ptr(host) }
    }
}

/// A page of words, all zero when it is new. It is freed by [`free`](Self::free) only.
pub(super) struct Page {
    host: usize,
    device: CUdeviceptr,
}

impl Page {
    /// Allocates a page. The context is current.
    pub(super) fn allocate(api: &Api) -> DriverResult<Self> {
        let mut host: *mut c_void = ptr::null_mut();
        // SAFETY: `host` is a place for the result, and the caller's context is current.
        unsafe { api.cuMemHostAlloc(&mut host, PAGE, sys::CU_MEMHOSTALLOC_DEVICEMAP) }?;
        let mut device = 0;
        // SAFETY: `device` is a place for the result, and the memory was allocated to be mapped.
        if let Err(error) = unsafe { api.cuMemHostGetDevicePointer_v2(&mut device, host, 0) } {
            // SAFETY: the allocation is this call's own and unused.
            let _ = unsafe { api.cuMemFreeHost(host) };
            return Err(error);
        }
        // SAFETY: the allocation is this call's own and of this size.
        unsafe { host.write_bytes(0, PAGE) };
        Ok(Self { host: host.expose_provenance(), device })
    }

    pub(super) fn words(&self) -> impl DoubleEndedIterator<Item = Word> + use<> {
        let (host, device) = (self.host, self.device);
        let offsets = (0..PAGE / size_of::<u32>()).map(|index| index * size_of::<u32>());
        offsets.map(move |offset| Word { host: host + offset, device: device + offset as CUdeviceptr })
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// The context is current, and neither the host nor the device accesses a word of the page any more.
    pub(super) unsafe fn free(self, api: &Api) {
        // SAFETY: the page came from `cuMemHostAlloc` and is freed here only; the caller promises the rest.
        let _ = unsafe { api.cuMemFreeHost(ptr::with_exposed_provenance_mut(self.host)) };
    }
}
