//! The types with which a kernel in Rust runs on the host.

use std::fmt;
use std::marker::PhantomData;
use std::ops;

use super::tiles::{OwnRow, OwnTile, Row, Tile};

/// The index of a kernel's thread in the data, which no other thread of the launch has: the first parameter of a
/// `#[kernel]`.
///
/// In `Index<2>` and `Index<3>` the axis that varies fastest, CUDA's x, comes last, as in an array of arrays.
/// Only a launch makes one, so that [`Own::get_mut`] gives a thread its own element alone:
///
/// ```compile_fail,E0423
/// let i = thalweg::kernel::Index([0]);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index<const D: usize = 1>(pub(super) [usize; D]);

impl Index<1> {
    /// The index as a number.
    #[inline]
    pub fn get(self) -> usize {
        self.0[0]
    }
}

impl Index<2> {
    /// The row and the column.
    #[inline]
    pub fn get(self) -> [usize; 2] {
        self.0
    }
}

impl Index<3> {
    /// The index along CUDA's z, y and x.
    #[inline]
    pub fn get(self) -> [usize; 3] {
        self.0
    }
}

impl<T> ops::Index<Index<1>> for [T] {
    type Output = T;

    #[inline]
    fn index(&self, index: Index<1>) -> &T {
        &self[index.0[0]]
    }
}

/// The index of a block in its grid, which no other block has. With it a block writes
/// [its element](Own::put).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockIndex(pub(super) usize);

impl BlockIndex {
    /// The index as a number.
    #[inline]
    pub fn get(self) -> usize {
        self.0
    }
}

/// Data that a kernel reads and writes in place, `&mut Own<[T]>`: each thread has the element of its [`Index`].
///
/// Launches pass a device buffer by `&mut`.
pub struct Own<T: ?Sized>(pub(super) Handle, PhantomData<*mut T>);

/// Data that a kernel writes and does not read, `&mut Out<[T]>`: each thread has the element of its [`Index`],
/// and writes it.
///
/// Launches pass a device buffer by `out`.
pub struct Out<T: ?Sized>(pub(super) Handle, PhantomData<*mut T>);

/// The data behind a handle.
pub(super) struct Handle {
    data: *mut (),
    /// The lengths of the axes, the one that varies fastest last. Those that the kernel does not have are 1.
    shape: [usize; 3],
}

impl Handle {
    /// The place of an index, if it is within the shape.
    ///
    /// Each thread of a launch comes here, also in programs that are compiled without optimisation. There an
    /// iterator calls a dozen functions for each axis, and an index calls none.
    #[inline]
    pub(super) fn place<const D: usize>(&self, index: Index<D>) -> Option<usize> {
        let (mut place, mut axis) = (0, 0);
        while axis < D {
            let (at, length) = (index.0[axis], self.shape[3 - D + axis]);
            if at >= length {
                return None;
            }
            place = place * length + at;
            axis += 1;
        }
        Some(place)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The place, which must be within the data.
    #[inline]
    #[track_caller]
    pub(super) fn within(&self, place: usize) -> usize {
        let length = self.len();
        assert!(place < length, "index out of bounds: the len is {length} but the index is {place}");
        place
    }
}

macro_rules! handles {
    ($($handle:ident),*) => {$(
        impl<T> $handle<[T]> {
            /// # Safety
            /// `data` has as many elements as the shape, and they are exclusively the launch's, which may have
            /// several handles, one for each thread of the host. A handle is lent to the kernel's function
            /// alone, which cannot keep it.
            #[doc(hidden)]
            pub(crate) unsafe fn new(data: *mut T, shape: [usize; 3]) -> Self {
                Self(Handle { data: data.cast(), shape }, PhantomData)
            }

            /// The number of elements of all threads together.
            #[inline]
            pub fn len(&self) -> usize {
                self.0.len()
            }

            /// Whether there are no elements.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// The number of elements along the axis that varies fastest.
            #[doc(hidden)]
            #[inline]
            pub fn along_x(&self) -> usize {
                self.0.shape[2]
            }

            /// The thread's own element; `None` if the grid has more threads than there are elements.
            #[inline]
            pub fn get_mut<const D: usize>(&mut self, index: Index<D>) -> Option<&mut T> {
                let place = self.0.place(index)?;
                // SAFETY: the place is within the data, by the promise of `new`. The element is this index's
                // alone: a launch makes each index once, the macro lets a kernel pass no other, nor `put`
                // into data that it takes elements of, and `self` is borrowed as long as the element is.
                Some(unsafe { &mut *self.0.data.cast::<T>().add(place) })
            }

            /// The block's own tile, for [`Block::fill`](super::Block::fill). What is beyond the end of the
            /// data is left out.
            #[inline]
            pub fn tile<const R: usize, const C: usize>(&mut self, at: Tile<R, C>) -> OwnTile<'_, T, R, C> {
                // SAFETY: the data have this shape, by the promise of `new`. The tile is this block's alone:
                // a launch makes each tile of a size once, and the macro lets a kernel take tiles of one
                // size alone of a parameter, and neither rows nor elements beside them.
                unsafe { OwnTile::new(self.0.data.cast(), self.0.shape, at) }
            }

            /// The block's own row, for [`Block::fill`](super::Block::fill).
            #[inline]
            pub fn row(&mut self, at: Row) -> OwnRow<'_, T> {
                // SAFETY: as in `tile`: a launch makes each row once.
                unsafe { OwnRow::new(self.0.data.cast(), self.0.shape, at) }
            }

            /// The lengths of the axes.
            pub(super) fn shape(&self) -> [usize; 3] {
                self.0.shape
            }

            /// Any element, to write, also that of another thread. Its place is counted along the last axis
            /// first.
            ///
            /// # Safety
            /// No other thread accesses the element, but for the threads of the same block in other phases.
            ///
            /// # Panics
            /// If there is no such element.
            #[inline]
            #[track_caller]
            pub unsafe fn any_mut(&mut self, place: usize) -> &mut T {
                let place = self.0.within(place);
                // SAFETY: the place is within the data, by the promise of `new`. The caller promises that the
                // element is this thread's, and `self` is borrowed as long as the element is.
                unsafe { &mut *self.0.data.cast::<T>().add(place) }
            }

            /// Writes the block's own element, outside of phases.
            ///
            /// # Panics
            /// If the grid has more blocks than there are elements.
            #[inline]
            #[track_caller]
            pub fn put(&mut self, at: BlockIndex, value: T) {
                let length = self.len();
                let Some(element) = self.get_mut(Index([at.0])) else {
                    panic!("index out of bounds: the len is {length} but the index is {}", at.0);
                };
                *element = value;
            }
        }

        impl<T: ?Sized> fmt::Debug for $handle<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($handle)).field("shape", &self.0.shape).finish()
            }
        }
    )*};
}
handles!(Own, Out);

impl<T> Own<[T]> {
    /// Any element, to read, also that of another thread. Its place is counted along the last axis first.
    ///
    /// # Safety
    /// No other thread writes the element, but for the threads of the same block in other phases.
    ///
    /// # Panics
    /// If there is no such element.
    #[inline]
    #[track_caller]
    pub unsafe fn any(&self, place: usize) -> &T {
        let place = self.0.within(place);
        // SAFETY: the place is within the data, by the promise of `new`. The caller promises that nobody writes
        // the element meanwhile.
        unsafe { &*self.0.data.cast::<T>().add(place) }
    }
}
