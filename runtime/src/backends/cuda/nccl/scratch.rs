//! [`Scratch`]: what a communicator has besides NCCL's own.

use std::sync::Mutex;

use super::watch::locked;
use crate::backends::cuda::api::Api;
use crate::backends::cuda::handles::{event_handle, stream_handle};
use crate::backends::cuda::page::{Page, Word};
use crate::backends::cuda::sys::{CUevent_flags_enum, CUstream_flags_enum};
use crate::base::sync::Ordering;
use crate::driver::{DevicePtr, DriverResult, RawEvent, RawStream};

/// The bytes of device memory that barriers use.
const BYTES: usize = 256;

/// The numbers of the latest collectives that streams have come to, and that are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) begun: u32,
    pub(super) over: u32,
}

/// Device memory for barriers, and words in which a stream counts collectives. It is allocated when the device joins,
/// since nothing may be allocated between two collectives.
///
/// A write keeps its stream busy for three microseconds, as long as a small collective. So it is a stream of its own that
/// writes, after an event of the stream that has the collective.
pub(super) struct Scratch {
    memory: DevicePtr,
    /// The number of the latest collective that a stream has come to.
    begun: Word,
    /// The number of the latest one that is over.
    over: Word,
    /// The stream that writes, and the event for which it waits.
    counter: RawStream,
    come: RawEvent,
    /// Held from the record of the event until the stream waits for it.
    counting: Mutex<()>,
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
        let (counter, come) = match counter(api) {
            Ok(made) => made,
            Err(error) => {
                // SAFETY: as above; nothing has used the page either.
                unsafe {
                    page.free(api);
                    let _ = api.cuMemFree_v2(memory);
                }
                return Err(error);
            }
        };
        let mut words = page.words();
        let (Some(begun), Some(over)) = (words.next(), words.next()) else {
            unreachable!("a page has words")
        };
        let (counting, page) = (Mutex::new(()), Mutex::new(Some(page)));
        Ok(Self { memory: DevicePtr(memory), begun, over, counter, come, counting, page })
    }

    pub(super) fn memory(&self) -> DevicePtr {
        self.memory
    }

    /// Has the number of a collective written when its stream comes to it.
    ///
    /// # Errors
    /// The device cannot do it.
    ///
    /// # Safety
    /// The stream is live, its context current, and the scratch is freed after the stream was waited for.
    pub(super) unsafe fn count_begun(&self, api: &Api, stream: RawStream, number: u32) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.write(api, stream, &self.begun, number) }
    }

    /// Has the number of a collective written once that is over.
    ///
    /// # Errors
    /// The device cannot do it.
    ///
    /// # Safety
    /// As for [`count_begun`](Self::count_begun).
    pub(super) unsafe fn count_over(&self, api: &Api, stream: RawStream, number: u32) -> DriverResult<()> {
        // SAFETY: the caller's promise.
        unsafe { self.write(api, stream, &self.over, number) }
    }

    /// Has a word written after all that is on a stream now.
    ///
    /// # Safety
    /// As for [`count_begun`](Self::count_begun).
    unsafe fn write(&self, api: &Api, stream: RawStream, word: &Word, number: u32) -> DriverResult<()> {
        let (counter, come) = (stream_handle(self.counter), event_handle(self.come));
        let _counting = locked(&self.counting);
        // SAFETY: the caller's promise; the counter's stream, its event and the words are freed after it.
        unsafe {
            api.cuEventRecord(come, stream_handle(stream))?;
            api.cuStreamWaitEvent(counter, come, 0)?;
            api.write_value(counter, word.device, number)
        }
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
            // The stream's last write may be on its way.
            unsafe {
                let _ = api.cuStreamSynchronize(stream_handle(self.counter));
                let _ = api.cuStreamDestroy_v2(stream_handle(self.counter));
                let _ = api.cuEventDestroy_v2(event_handle(self.come));
                page.free(api);
                let _ = api.cuMemFree_v2(self.memory.0);
            }
        }
    }
}

/// A stream that counts, and the event for which it waits. The context is current.
fn counter(api: &Api) -> DriverResult<(RawStream, RawEvent)> {
    // SAFETY: the context is current.
    unsafe {
        let stream = api.new_stream(CUstream_flags_enum::CU_STREAM_NON_BLOCKING, 0)?;
        let event = api.new_event(CUevent_flags_enum::CU_EVENT_DISABLE_TIMING).inspect_err(|_| {
            // SAFETY: the stream is this call's own, and nothing is on it.
            let _ = api.cuStreamDestroy_v2(stream_handle(stream));
        })?;
        Ok((stream, event))
    }
}
