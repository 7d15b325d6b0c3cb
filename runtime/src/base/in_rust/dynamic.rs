//! Shared memory whose size the launch says: slices of it that lie one after the other.

use std::cell::Cell;
use std::fmt;
use std::ops;
use std::rc::Rc;

use super::blocks::{Block, sealed};
use super::tiles::{self, Fill};
use super::too_little::TooLittle;

/// The shared memory that the launch gives to a block.
#[derive(Debug)]
pub(super) struct Dynamic {
    given: u32,
    /// The end of the slice that was made last, of those that there are.
    used: Cell<u32>,
}

impl Dynamic {
    pub(super) fn new(given: u32) -> Rc<Self> {
        Rc::new(Self { given, used: Cell::new(0) })
    }

    /// Takes the memory of so many elements, as the C++ does.
    fn take(self: &Rc<Self>, length: usize, [size, align]: [usize; 2]) -> Result<Taken, TooLittle> {
        let before = self.used.get();
        let start = u64::from(before).next_multiple_of(align as u64);
        let bytes = (length as u64).saturating_mul(size as u64);
        let end = u32::try_from(start.saturating_add(bytes)).unwrap_or(u32::MAX);
        let needed = if length == 0 { 0 } else { end };
        if needed == 0 || end > self.given {
            return Err(TooLittle { needed, given: self.given });
        }
        self.used.set(end);
        Ok(Taken { of: Rc::clone(self), before })
    }
}

/// The memory of a slice, which is free again when the slice is dropped: before any that was made earlier, since no
/// kernel can move one.
struct Taken {
    of: Rc<Dynamic>,
    before: u32,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.of.used.set(self.before);
    }
}

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
                SharedSlice { elements: (0..length).map(|_| T::undefined()).collect(), _taken: taken }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_lie_one_after_the_other_and_are_aligned() {
        let dynamic = Dynamic::new(100);
        let bytes = dynamic.take(3, [1, 1]).unwrap_or_else(|lacking| panic!("{lacking}"));
        {
            let words = dynamic.take(2, [8, 8]).unwrap_or_else(|lacking| panic!("{lacking}"));
            assert_eq!((dynamic.used.get(), words.before), (24, 3));
            let lacking = dynamic.take(20, [4, 4]).err();
            assert_eq!(lacking, Some(TooLittle { needed: 104, given: 100 }));
            assert_eq!(dynamic.take(19, [4, 4]).map(|_| ()), Ok(()));
        }
        assert_eq!(dynamic.used.get(), 3);
        drop(bytes);
        assert_eq!(dynamic.used.get(), 0);
    }

    #[test]
    fn no_length_wraps() {
        let dynamic = Dynamic::new(227 << 10);
        let needed = |length| dynamic.take(length, [8, 8]).err().map(|lacking| lacking.needed);
        assert_eq!(needed(0), Some(0));
        assert_eq!(needed((1 << 29) - 1), Some(u32::MAX - 7));
        for length in [1 << 29, (1 << 29) + 1, 1 << 32, 1 << 61, usize::MAX] {
            assert_eq!(needed(length), Some(u32::MAX), "{length}");
        }
    }
}
