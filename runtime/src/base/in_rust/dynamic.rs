//! Shared memory whose size the launch says: slices of it that lie one after the other.

use std::fmt;
use std::ops;

use super::blocks::{Block, sealed};
use super::given::Taken;
use super::tiles::{self, Fill};

/// A slice in the shared memory of a block, as [`Block::shared_slice`] gives one. All threads read it, and
/// [`Block::fill`] writes it. One of atomics is changed by all of them.
pub struct SharedSlice<T: sealed::SharedElement> {
    pub(super) elements: Box<[T::Held]>,
    _taken: Taken,
}

impl<const D: usize> Block<D> {
    /// A slice of so many elements in the block's shared memory, whose size the launch says, in bytes:
    /// `<<<grid, block, bytes>>>`. A kernel may have several, which lie one after the other, each aligned for its
    /// type. Its elements are undefined until a [`fill`](Self::fill), or until an atomic's
    /// [`store`](super::SharedAtomic::store).
    ///
    /// # Panics
    /// If the launch gives too little, or `length` is 0.
    #[inline]
    #[track_caller]
    pub fn shared_slice<T: sealed::SharedElement>(&self, length: usize) -> SharedSlice<T> {
        match self.dynamic.take(length, [size_of::<T::Number>(), align_of::<T::Number>()]) {
            // What is read before it is written is hardly ever right.
            Ok(taken) => {
                self.dynamic.add_on_host(length * size_of::<T::Held>());
                let undefined = |place| T::undefined(sealed::Element::of(place));
                SharedSlice { elements: (0..length).map(undefined).collect(), _taken: taken }
            }
            Err(lacking) => panic!("{lacking}"),
        }
    }

    /// The bytes of shared memory that the launch gives to each block for [slices](Self::shared_slice): the third
    /// value of `<<<grid, block, bytes>>>`.
    #[inline]
    pub fn shared_bytes(&self) -> usize {
        self.dynamic.given as usize
    }
}

impl<T: sealed::SharedElement> ops::Deref for SharedSlice<T> {
    type Target = [T::Held];

    #[inline]
    fn deref(&self) -> &[T::Held] {
        &self.elements
    }
}

impl<T: sealed::SharedElement> tiles::sealed::Fill for SharedSlice<T> {}

impl<T: sealed::SharedElement> Fill for SharedSlice<T> {
    type At = usize;
    type Element = T::Number;

    #[inline]
    fn places(&self) -> usize {
        self.elements.len()
    }

    #[inline]
    fn at(&self, place: usize) -> Option<usize> {
        Some(place)
    }

    #[inline]
    fn set(&mut self, place: usize, value: T::Number) {
        T::set(&mut self.elements[place], value);
    }
}

impl<T: sealed::Number> SharedSlice<T> {
    /// Any element, to read.
    ///
    /// # Safety
    /// No other thread writes the element in this phase.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    #[track_caller]
    pub unsafe fn any(&self, at: usize) -> &T {
        &self.elements[at]
    }

    /// Any element, to write.
    ///
    /// # Safety
    /// No other thread accesses the element in this phase.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    #[track_caller]
    pub unsafe fn any_mut(&mut self, at: usize) -> &mut T {
        &mut self.elements[at]
    }
}

impl<T: sealed::SharedElement> fmt::Debug for SharedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedSlice").field("len", &self.elements.len()).finish_non_exhaustive()
    }
}
