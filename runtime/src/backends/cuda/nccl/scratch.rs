//! [`Scratch`]: the memory that a communicator has besides NCCL's own.

use std::sync::Mutex;

use super::watch::locked;
use crate::backends::cuda::api::Api;
use crate::backends::cuda::handles::stream_handle;
use crate::backends::cuda::page::{Page, Word};
use crate::base::sync::Ordering;
use crate::driver::{DevicePtr, DriverResult, RawStream};

/// The bytes of device memory that barriers use.
const BYTES: usize = 256;

/// The numbers of the latest collectives that streams have come to, and that are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) begun: u32,
    pub(super) over: u32,
}

/// Device memory for barriers, and words in which streams count collectives. It is allocated when the device joins,
/// since nothing may be allocated between two collectives.
pub(super) struct Scratch {
    memory: DevicePtr,
    /// The number of the latest collective that a stream has come to.
    begun: Word,
    /// The number of the latest one that is over.
    over: Word,
    /// The page of the words, until everything is freed.
    page: Mutex<Option<Page>>,
}

impl Scratch {
    /// Allocates it. The context is current.
    pub(super) fn allocate(api: &Api) -> DriverResult<Self> {
        let mut memory = 0;
        // SAFETY: `memory` is a place for the result, and the context is current.
        unsafe { api.cuMemAlloc_v2(&mut memory, BYTES) }?;
        let page = Page::allocate(api).inspect_err(|_| {
            // SAFETY: the allocation is this call's own and unused.
            let _ = unsafe { api.cuMemFree_v2(memory) };
        })?;
        let mut words = page.words();
        let (Some(begun), Some(over)) = (words.next(), words.next()) else {
            unreachable!("a page has words")
        };
        Ok(Self { memory: DevicePtr(memory), begun, over, page: Mutex::new(Some(page)) })
    }

    pub(super) fn memory(&self) -> DevicePtr {
        self.memory
    }

    /// Makes a stream write the number of a collective when it comes to it.
    ///
    /// # Errors
    /// The device cannot do it.
    ///
    /// # Safety
    /// The stream is live, its context current, and the scratch is freed after the stream was waited for.
    pub(super) unsafe fn count_begun(&self, api: &Api, stream: RawStream, number: u32) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { api.write_value(stream_handle(stream), self.begun.device, number) }
    }

    /// Makes a stream write the number of a collective once that is over.
    ///
    /// # Errors
    /// The device cannot do it.
    ///
    /// # Safety
    /// As for [`count_begun`](Self::count_begun).
    pub(super) unsafe fn count_over(&self, api: &Api, stream: RawStream, number: u32) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { api.write_value(stream_handle(stream), self.over.device, number) }
    }

    /// The numbers of the latest collectives that have begun and that are over. They differ while one is under way.
    ///
    /// # Safety
    /// The scratch is not freed meanwhile.
    pub(super) unsafe fn counted(&self) -> Counted {
        // What is over has begun, so this order gives no collective that is over but not begun.
        // SAFETY: the caller's promise.
        let (over, begun) = unsafe { (self.over.atomic(), self.begun.atomic()) };
        let over = over.load(Ordering::Acquire);
        Counted { over, begun: begun.load(Ordering::Acquire) }
    }

    /// Gives the memory back.
    ///
    /// # Safety
    /// The context is current, and nothing uses the memory any more.
    pub(super) unsafe fn free(&self, api: &Api) {
        if let Some(page) = locked(&self.page).take() {
            // SAFETY: the caller's promise; the page is taken once only, and the memory goes with it.
            unsafe {
                page.free(api);
                let _ = api.cuMemFree_v2(self.memory.0);
            }
        }
    }
}
