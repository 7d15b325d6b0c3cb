//! Values that a block fetches ahead: a fill in two halves.

use std::fmt;

use super::{Block, Shared, SharedArray};
use crate::base::in_rust::tiles::Fill;

/// The elements of an array that is not written yet, as [`Block::fetch`] gives them, or with `COLUMNS` as
/// [`Block::fetch_columns`] does. [`Block::fill_fetched`] writes them to shared memory.
///
/// On a GPU each thread has its share in registers.
pub struct Fetched<A: SharedArray, const COLUMNS: bool = false>(Vec<A::Element>);

impl<A: SharedArray, const COLUMNS: bool> fmt::Debug for Fetched<A, COLUMNS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetched").finish_non_exhaustive()
    }
}

/// A fill in two halves: the threads share the elements of an array and compute them, and write them to shared memory
/// later. What they load from global memory in the first half is then under way while the phases between the two
/// compute. Kernels that do so have `#[kernel(threads = N)]`.
impl<const D: usize> Block<D> {
    /// A phase that computes the elements of an array of the type `A`, each by one thread: `value` gives the one of a
    /// place, as for [`fill`](Self::fill). They are written by [`fill_fetched`](Self::fill_fetched).
    #[inline]
    pub fn fetch<A: SharedArray>(&self, value: impl FnMut(A::At) -> A::Element) -> Fetched<A> {
        Fetched(self.elements::<A>(value))
    }

    /// The same as [`fetch`](Self::fetch), but threads beside each other have elements of one column, as those of
    /// [`fill_columns`](Self::fill_columns).
    #[inline]
    pub fn fetch_columns<A: SharedArray<At = [usize; 2]>>(
        &self,
        value: impl FnMut([usize; 2]) -> A::Element,
    ) -> Fetched<A, true> {
        Fetched(self.elements::<A>(value))
    }

    /// A phase that writes all of a shared array: what was fetched for it.
    #[inline]
    pub fn fill_fetched<A: SharedArray, const COLUMNS: bool>(
        &self,
        array: &mut Shared<A>,
        fetched: &Fetched<A, COLUMNS>,
    ) where
        A::Element: Copy,
    {
        self.fill_any_fetched(array, fetched);
    }

    /// The same of an array that may be watched.
    #[doc(hidden)]
    #[inline]
    pub fn fill_any_fetched<A: SharedArray, const COLUMNS: bool>(
        &self,
        array: &mut impl Fill<Element = A::Element>,
        fetched: &Fetched<A, COLUMNS>,
    ) where
        A::Element: Copy,
    {
        self.each(|thread| {
            for place in thread.of_block(A::LENGTH) {
                array.set(place, fetched.0[place]);
            }
        });
    }

    /// The elements of an array, along its last axis first. Each is computed by the thread that would write it.
    #[inline]
    fn elements<A: SharedArray>(&self, mut value: impl FnMut(A::At) -> A::Element) -> Vec<A::Element> {
        let mut elements: Vec<_> = std::iter::repeat_with(|| None).take(A::LENGTH).collect();
        self.each(|thread| {
            for place in thread.of_block(A::LENGTH) {
                elements[place] = Some(value(A::at(place)));
            }
        });
        // The threads of the block have all places between them.
        elements.into_iter().flatten().collect()
    }
}
