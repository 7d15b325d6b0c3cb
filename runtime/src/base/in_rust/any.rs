//! Any element of an array in shared memory, for code that says `unsafe`.

use super::blocks::{Shared, SharedArray, sealed};

/// An array of which a thread may take any element.
pub trait AnyArray: SharedArray<Held = Self> + Sized {
    /// The length of a row, if it is an array of arrays.
    #[doc(hidden)]
    const COLUMNS: Option<usize>;
    /// The number of rows, if it is an array of arrays.
    #[doc(hidden)]
    const ROWS: usize;
    /// The number of a place, along the last axis first.
    ///
    /// # Panics
    /// If there is no such place.
    #[doc(hidden)]
    fn number(at: Self::At) -> usize;
    #[doc(hidden)]
    fn element(&self, number: usize) -> &Self::Element;
    #[doc(hidden)]
    fn element_mut(&mut self, number: usize) -> &mut Self::Element;
}

/// The index, which must be below the length.
#[track_caller]
fn within(index: usize, length: usize) -> usize {
    assert!(index < length, "index out of bounds: the len is {length} but the index is {index}");
    index
}

impl<T: sealed::Number, const N: usize> AnyArray for [T; N] {
    const COLUMNS: Option<usize> = None;
    const ROWS: usize = 0;

    #[inline]
    #[track_caller]
    fn number(at: usize) -> usize {
        within(at, N)
    }

    #[inline]
    fn element(&self, number: usize) -> &T {
        &self[number]
    }

    #[inline]
    fn element_mut(&mut self, number: usize) -> &mut T {
        &mut self[number]
    }
}

impl<T: sealed::Number, const R: usize, const C: usize> AnyArray for [[T; C]; R] {
    const COLUMNS: Option<usize> = Some(C);
    const ROWS: usize = R;

    #[inline]
    #[track_caller]
    fn number([row, column]: [usize; 2]) -> usize {
        within(row, R) * C + within(column, C)
    }

    #[inline]
    fn element(&self, number: usize) -> &T {
        &self[number / C][number % C]
    }

    #[inline]
    fn element_mut(&mut self, number: usize) -> &mut T {
        &mut self[number / C][number % C]
    }
}

impl<A: AnyArray> Shared<A> {
    /// Any element, to read: `i`, or `[r, c]`.
    ///
    /// # Safety
    /// No other thread writes the element in this phase.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    #[track_caller]
    pub unsafe fn any(&self, at: A::At) -> &A::Element {
        self.0.element(A::number(at))
    }

    /// Any element, to write: `i`, or `[r, c]`.
    ///
    /// # Safety
    /// No other thread accesses the element in this phase.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    #[track_caller]
    pub unsafe fn any_mut(&mut self, at: A::At) -> &mut A::Element {
        self.0.element_mut(A::number(at))
    }
}
