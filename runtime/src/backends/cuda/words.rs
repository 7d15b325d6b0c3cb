//! Words of page-locked memory that streams wait on, or write. The README of the folder `host` shows that no
//! word goes to another stream too early.

use super::api::Api;
use super::page::{Page, Word};
use crate::base::sync::{AtomicU32, Mutex, MutexGuard, Ordering, PoisonError};
use crate::driver::DriverResult;

/// The words of one device.
pub(super) struct Words {
    state: Mutex<PageState>,
}

struct PageState {
    /// Whether the pages exist.
    open: bool,
    pages: Vec<Page>,
    free: Vec<Word>,
}

impl Words {
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(PageState { open: true, pages: Vec::new(), free: Vec::new() }) }
    }

    /// A word that nothing waits on with a value beyond its own, and its value.
    ///
    /// The context is current. Only the first call allocates, and every thousandth: while a stream waits for
    /// the host, an allocation might wait for the stream.
    pub(super) fn take(&self, api: &Api) -> DriverResult<(Word, u32)> {
        loop {
            let mut state = self.state();
            if let Some(word) = state.free.pop() {
                return Ok((word, state.load(word)));
            }
            // The page is not allocated under the lock, which `write` needs.
            drop(state);
            let page = Page::allocate(api)?;
            let mut state = self.state();
            state.free.extend(page.words().rev());
            state.pages.push(page);
        }
    }

    /// Gives a word back if its value is the last that anyone has waited for on it. Otherwise the word stays
    /// out of use.
    pub(super) fn give_back(&self, word: Word, waited_for: u32) {
        let mut state = self.state();
        if state.load(word) == waited_for {
            state.free.push(word);
        }
    }

    /// A word that was taken, to be read.
    ///
    /// # Safety
    /// The words are not closed while anyone has the reference.
    pub(super) unsafe fn look_at(&self, word: Word) -> &AtomicU32 {
        // SAFETY: by the caller's promise the word lies in a page that is live until `close`.
        unsafe { word.atomic() }
    }

    /// Lets the streams that wait for this value go on. The value of a word never decreases: if it is higher
    /// already, because a later job was done before this one, it stays as it is.
    pub(super) fn write(&self, word: Word, value: u32) {
        let state = self.state();
        // Nobody else writes it meanwhile. A value counts as later if it is ahead by less than half of all
        // values.
        if value.wrapping_sub(state.load(word)).cast_signed() > 0 {
            state.store(word, value);
        }
    }

    /// Lets every stream that still waits go on, since the driver would wait for it, and frees everything.
    /// Without an interface to do so, everything is left to the context's end. Later writes are lost.
    pub(super) fn close(&self, api: Option<&Api>) {
        let mut state = self.state();
        let pages = std::mem::take(&mut state.pages);
        for word in pages.iter().flat_map(Page::words) {
            // This is further than any stream waits for, and near enough to count as further.
            state.store(word, state.load(word).wrapping_add(1 << 30));
        }
        state.open = false;
        state.free.clear();
        drop(state);
        for page in pages {
            if let Some(api) = api {
                // SAFETY: writes find the words closed, and the device is going, so that no stream of this
                // crate's is in use.
                unsafe { page.free(api) };
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageState {
    fn atomic(&self, word: Word) -> Option<&AtomicU32> {
        // SAFETY: the word lies in a page that is live as long as the words are open, which `self`, under its
        // lock, says they are.
        self.open.then(|| unsafe { word.atomic() })
    }

    fn load(&self, word: Word) -> u32 {
        self.atomic(word).map_or(0, |word| word.load(Ordering::Relaxed))
    }

    fn store(&self, word: Word, value: u32) {
        if let Some(word) = self.atomic(word) {
            // Everything that this thread has written comes first, so that whoever sees the value sees that
            // too.
            word.store(value, Ordering::Release);
        }
    }
}
