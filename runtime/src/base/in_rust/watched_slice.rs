//! A slice in shared memory, while the simulated device watches its kernel.

use std::fmt;
use std::ops;
use std::panic::Location;
use std::rc::Rc;

use super::blocks::{Block, sealed};
use super::dynamic::SharedSlice;
use super::native::Index;
use super::race::Memory;
use super::tiles::{self, Fill};
use super::unchecked::Unchecked;
use super::watched::Span;

/// A [`SharedSlice`] whose elements are watched.
#[doc(hidden)]
pub struct WatchedSlice<T: sealed::Number> {
    slice: SharedSlice<T>,
    memory: Rc<Memory>,
}

impl<const D: usize> Block<D> {
    /// What `shared_slice` is while a kernel is watched. The name is that of the slice's variable.
    #[doc(hidden)]
    #[track_caller]
    pub fn watched_shared_slice<T: sealed::Number>(
        &self,
        length: usize,
        name: &'static str,
    ) -> WatchedSlice<T> {
        let slice = self.shared_slice(length);
        WatchedSlice { slice, memory: Memory::new(&self.running, name, length, None) }
    }
}

impl<T: sealed::Number> WatchedSlice<T> {
    /// It is as that of a slice, and reads no element.
    pub fn len(&self) -> usize {
        self.slice.elements.len()
    }

    /// It is as that of a slice.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// It is as that of [`SharedSlice`].
    ///
    /// # Safety
    /// None: what the kernel promises is watched here.
    #[track_caller]
    pub unsafe fn any(&self, at: usize) -> &T {
        let element = &self.slice.elements[at];
        self.memory.read(at, Location::caller());
        element
    }

    /// It is as that of [`SharedSlice`].
    ///
    /// # Safety
    /// None, as of `any`.
    #[track_caller]
    pub unsafe fn any_mut(&mut self, at: usize) -> &mut T {
        let element = &mut self.slice.elements[at];
        self.memory.write(at, Location::caller());
        element
    }

    /// It is as that of a slice.
    ///
    /// # Safety
    /// None: it is checked here.
    #[track_caller]
    pub unsafe fn get_unchecked_in_kernel(&self, place: usize) -> &T {
        self.read(Span::<T>::span(&place, self.len()), Location::caller());
        // SAFETY: it is checked.
        unsafe { self.slice.elements.get_unchecked_in_kernel(place) }
    }

    fn read(&self, places: ops::Range<usize>, line: &'static Location<'static>) {
        places.for_each(|place| self.memory.read(place, line));
    }
}

impl<T: sealed::Number, I: Span<T>> ops::Index<I> for WatchedSlice<T> {
    type Output = I::Output;

    #[track_caller]
    fn index(&self, index: I) -> &I::Output {
        self.read(index.span(self.len()), Location::caller());
        &self.slice.elements[index]
    }
}

impl<T: sealed::Number> ops::Index<Index> for WatchedSlice<T> {
    type Output = T;

    #[track_caller]
    fn index(&self, index: Index) -> &T {
        &self[index.get()]
    }
}

/// The slice as a whole: a reference to it reads all elements.
impl<T: sealed::Number> ops::Deref for WatchedSlice<T> {
    type Target = [T];

    #[track_caller]
    fn deref(&self) -> &[T] {
        self.read(0..self.len(), Location::caller());
        &self.slice.elements
    }
}

impl<T: sealed::Number> tiles::sealed::Fill for WatchedSlice<T> {}

/// `block.fill(&mut slice, …)`: a phase that borrows the slice, so that no thread accesses it otherwise.
impl<T: sealed::Number> Fill for WatchedSlice<T> {
    type At = usize;
    type Element = T;

    fn places(&self) -> usize {
        self.len()
    }

    fn at(&self, place: usize) -> Option<usize> {
        Some(place)
    }

    fn set(&mut self, place: usize, value: T) {
        self.slice.elements[place] = value;
    }
}

impl<T: sealed::Number> fmt::Debug for WatchedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedSlice").finish_non_exhaustive()
    }
}
