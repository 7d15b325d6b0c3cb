//! Pages of words that loom sees.

use cudarc::driver::sys::CUdeviceptr;
use loom::cell::UnsafeCell;

use super::api::Api;
use crate::base::sync::AtomicU32;
use crate::driver::DriverResult;

/// Words of a page: so few that streams get each other's.
const WORDS: usize = 2;

/// A word, by its address, which is the same for both sides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    pub(crate) device: CUdeviceptr,
}

/// A word of some page, and a flag that shows whether the page was freed.
struct Cell {
    word: AtomicU32,
    memory: UnsafeCell<()>,
}

// SAFETY: loom finds out whether two threads access the memory at once.
unsafe impl Sync for Cell {}

impl Word {
    pub(crate) unsafe fn atomic<'a>(self) -> &'a AtomicU32 {
        let cell = std::ptr::with_exposed_provenance::<Cell>(self.device as usize);
        // SAFETY: pages are leaked.
        let cell = unsafe { &*cell };
        // Nothing frees it before this or at the same time.
        cell.memory.with(|_| ());
        &cell.word
    }
}

/// A page of words.
pub(crate) struct Page(&'static [Cell; WORDS]);

impl Page {
    pub(crate) fn allocate(_: &Api) -> DriverResult<Self> {
        let cell = |()| Cell { word: AtomicU32::new(0), memory: UnsafeCell::new(()) };
        Ok(Self(Box::leak(Box::new([(); WORDS].map(cell)))))
    }

    pub(crate) fn words(&self) -> impl DoubleEndedIterator<Item = Word> + use<> {
        self.0.iter().map(|cell| Word { device: std::ptr::from_ref(cell).expose_provenance() as CUdeviceptr })
    }

    pub(crate) unsafe fn free(self, api: &Api) {
        // The driver does so too, unless its context is lost.
        if !api.is_lost.get() {
            api.drain();
        }
        // Every access comes before this.
        self.0.iter().for_each(|cell| cell.memory.with_mut(|_| ()));
    }
}
