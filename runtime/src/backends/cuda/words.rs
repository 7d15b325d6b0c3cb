//! Words of page-locked memory that streams wait on, or write.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{self, CUdeviceptr};

use super::api::Api;
use crate::driver::DriverResult;

/// What is allocated at a time, in bytes: more words than there are streams.
const PAGE: usize = 4096;

/// One word, by its address for either side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    /// Of a live page as long as the words are open; its provenance is exposed.
    host: usize,
    pub(super) device: CUdeviceptr,
}

/// The words of one device.
pub(super) struct Words {
    state: Mutex<State>,
}

struct State {
    /// The pages are there.
    open: bool,
    /// Their addresses.
    pages: Vec<usize>,
    free: Vec<Word>,
}

impl Words {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State { open: true, pages: Vec::new(), free: Vec::new() }) }
    }

    /// A word that nothing waits on with a value beyond what it holds, and what it holds.
    ///
    /// The context is current. Only the first call allocates, and every thousandth: while a stream waits for the host,
    /// an allocation might wait for the stream.
    pub(super) fn take(&self, api: &Api) -> DriverResult<(Word, u32)> {
        loop {
            let mut state = self.state();
            if let Some(word) = state.free.pop() {
                return Ok((word, state.load(word)));
            }
            // Not under the lock, which `write` needs.
            drop(state);
            let page = Page::allocate(api)?;
            let mut state = self.state();
            state.free.extend(page.words().rev());
            state.pages.push(page.host);
        }
    }

    /// Gives a word back that holds all that anyone has waited for on it.
    pub(super) fn give_back(&self, word: Word, waited_for: u32) {
        let mut state = self.state();
        if state.load(word) == waited_for {
            state.free.push(word);
        }
    }

    /// A word that was taken, to look at.
    ///
    /// # Safety
    /// The words are not closed while anyone looks.
    pub(super) unsafe fn look_at(&self, word: Word) -> &AtomicU32 {
        let host = ptr::with_exposed_provenance_mut::<u32>(word.host);
        // SAFETY: the word is aligned and lies in a page that is live until `close`, says the caller. The host accesses it
        // atomically only; what the device writes is a whole word.
        unsafe { AtomicU32::from_ptr(host) }
    }

    /// Lets the streams go on that wait for this value. A word never goes back: if it holds more already,
    /// because a later job was done before this one, it stays as it is.
    pub(super) fn write(&self, word: Word, value: u32) {
        let state = self.state();
        // Nobody else writes it meanwhile. A value counts as later if it is ahead by less than half of all
        // values.
        if value.wrapping_sub(state.load(word)).cast_signed() > 0 {
            state.store(word, value);
        }
    }

    /// Lets every stream go on that still waits, since the driver would wait for it, and frees everything; without an
    /// interface to do so, leaves it to the context's end. What is written afterwards is lost.
    pub(super) fn close(&self, api: Option<&Api>) {
        let mut state = self.state();
        let pages = std::mem::take(&mut state.pages);
        for word in pages.iter().flat_map(|&host| Page { host, device: 0 }.words()) {
            // Further than any stream waits for, and near enough to count as further.
            state.store(word, state.load(word).wrapping_add(1 << 30));
        }
        state.open = false;
        state.free.clear();
        drop(state);
        for page in pages {
            if let Some(api) = api {
                // SAFETY: the page came from `cuMemHostAlloc` and is freed here only. Writes find the words closed, and
                // the device is going, so that no stream of this crate's is in use.
                let _ = unsafe { api.cuMemFreeHost(ptr::with_exposed_provenance_mut(page)) };
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn atomic(&self, word: Word) -> Option<&AtomicU32> {
        let host = ptr::with_exposed_provenance_mut::<u32>(word.host);
        // SAFETY: the word is aligned and lies in a page that is live as long as the words are open, which `self`, under
        // its lock, says they are. The host accesses it atomically only.
        self.open.then(|| unsafe { AtomicU32::from_ptr(host) })
    }

    fn load(&self, word: Word) -> u32 {
        self.atomic(word).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    fn store(&self, word: Word, value: u32) {
        if let Some(word) = self.atomic(word) {
            // Everything that this thread has written comes first: who sees the value sees that too.
            word.store(value, Ordering::Release);
        }
    }
}

/// A page of words, all zero when it is new.
struct Page {
    host: usize,
    device: CUdeviceptr,
}

impl Page {
    fn allocate(api: &Api) -> DriverResult<Self> {
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

    fn words(&self) -> impl DoubleEndedIterator<Item = Word> + use<> {
        let (host, device) = (self.host, self.device);
        let offsets = (0..PAGE / size_of::<u32>()).map(|index| index * size_of::<u32>());
        offsets.map(move |offset| Word { host: host + offset, device: device + offset as CUdeviceptr })
    }
}
