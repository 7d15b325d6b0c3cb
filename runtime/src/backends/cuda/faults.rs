//! Words in which threads of kernels in Rust leave their places when they fail.

use std::ptr;
use std::sync::{Mutex, PoisonError};

use super::api::Api;
use super::page::{Page, Word};
use crate::driver::{DriverResult, FaultWord};

/// The words of a page from one fault's to the next's: a place, two numbers, and one that is left free.
const WORDS: usize = 4;

// Note 62: one word for each module.
/// The words of one device. Each module of a kernel in Rust has one, with room for the numbers behind it.
pub(super) struct Faults(Mutex<State>);

#[derive(Default)]
struct State {
    pages: Vec<Page>,
    free: Vec<Word>,
}

impl Faults {
    pub(super) fn new() -> Self {
        Self(Mutex::default())
    }

    /// A word that holds 0. The context is current.
    pub(super) fn take(&self, api: &Api) -> DriverResult<FaultWord> {
        // A panic cannot leave the lists half-changed, so a poisoned lock is as good as any.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let word = match state.free.pop() {
            Some(word) => word,
            None => {
                let page = Page::allocate(api)?;
                let mut words: Vec<_> = page.words().step_by(WORDS).collect();
                words.reverse();
                let first = words.pop();
                state.free.extend(words);
                state.pages.push(page);
                first.unwrap_or_else(|| unreachable!("a page has words"))
            }
        };
        let word = FaultWord::new(word.host(), word.device);
        word.take();
        Ok(word)
    }

    /// Gives back a word that no kernel writes any more.
    pub(super) fn give_back(&self, word: &FaultWord) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.free.push(Word::at(word.host(), word.device()));
    }

    /// Frees all words. Without an interface to do so, they are left to the context's end.
    pub(super) fn close(&self, api: Option<&Api>) {
        let state = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(api) = api.filter(|_| !state.pages.is_empty()) else { return };
        // Launches by hand may be under way. An error means that nothing is any more.
        // SAFETY: the context is current.
        let _ = unsafe { api.cuCtxSynchronize() };
        for page in state.pages {
            // SAFETY: the device is going, nothing is under way on it, and the context is current.
            unsafe { page.free(api) };
        }
    }

    /// Tells a module where its word is: writes the address into the variable at `variable`.
    pub(super) fn tell(api: &Api, variable: u64, word: &FaultWord) -> DriverResult<()> {
        let address = word.device();
        // SAFETY: the variable has the size of an address and lives as long as its module, which nobody uses
        // yet. The context is current, and the call returns when the copy is done.
        unsafe { api.cuMemcpyHtoD_v2(variable, ptr::from_ref(&address).cast(), size_of_val(&address)) }
    }
}
