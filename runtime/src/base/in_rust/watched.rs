//! What a kernel with `unsafe` has in place of its data while the simulated device runs it: the same methods,
//! which note each access.

use std::fmt;
use std::ops::{self, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use std::panic::Location;
use std::rc::Rc;
use std::slice::SliceIndex;

use super::any::AnyArray;
use super::blocks::{Block, Shared, sealed};
use super::fault;
use super::given::Dynamic;
use super::launch;
use super::native::{BlockIndex, Index, Out, Own};
use super::race::Memory;
use super::running::{Running, index_of};
use super::tiles::{self, Elements, Fill};
use super::unchecked::Unchecked;
use crate::base::threads::Grid;

/// An `Own` or `Out` whose elements are watched.
#[doc(hidden)]
pub struct Watched<H> {
    handle: H,
    memory: Rc<Memory>,
}

impl<H> fmt::Debug for Watched<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}

impl<H: Elements> Watched<H> {
    /// Watches the elements of the parameter of this name.
    pub fn new(handle: H, name: &'static str, running: &Rc<Running>) -> Self {
        let memory = Memory::new(running, name, handle.axes().iter().product(), None);
        Self { handle, memory }
    }
}

impl<H: Elements> tiles::sealed::Elements for Watched<H> {}

impl<H: Elements> Elements for Watched<H> {
    fn axes(&self) -> [usize; 3] {
        self.handle.axes()
    }
}

macro_rules! handles {
    ($($handle:ident),*) => {$(
        impl<T> Watched<$handle<[T]>> {
            /// It is as that of the handle.
            pub fn len(&self) -> usize {
                self.handle.len()
            }

            /// It is as that of the handle.
            pub fn is_empty(&self) -> bool {
                self.handle.is_empty()
            }

            /// It is as that of the handle. The element counts as written, since it is this thread's alone.
            #[track_caller]
            pub fn get_mut<const D: usize>(&mut self, index: Index<D>) -> Option<&mut T> {
                self.memory.write(self.handle.0.place(index)?, Location::caller());
                self.handle.get_mut(index)
            }

            /// It is as that of the handle.
            ///
            /// # Safety
            /// None: what the kernel promises is watched here.
            #[track_caller]
            pub unsafe fn any_mut(&mut self, place: usize) -> &mut T {
                self.memory.write(self.handle.0.within(place), Location::caller());
                // SAFETY: one thread of the host runs all threads of the launch, one after another, so no other
                // uses the element while `self` is borrowed.
                unsafe { self.handle.any_mut(place) }
            }

            /// It is as that of the handle. No thread's element is a block's, as the macro sees to.
            #[track_caller]
            pub fn put(&mut self, at: BlockIndex, value: T) {
                self.handle.put(at, value);
            }
        }
    )*};
}
handles!(Own, Out);

impl<T> Watched<Own<[T]>> {
    /// It is as that of the handle.
    ///
    /// # Safety
    /// None, as of `any_mut`.
    #[track_caller]
    pub unsafe fn any(&self, place: usize) -> &T {
        self.memory.read(self.handle.0.within(place), Location::caller());
        // SAFETY: as in `any_mut`.
        unsafe { self.handle.any(place) }
    }
}

/// An array in shared memory whose elements are watched. As a whole it is a [`Shared`].
#[doc(hidden)]
pub struct WatchedShared<A: AnyArray> {
    /// From a box. Rows point at it, too, which a box would not allow while it is moved.
    array: *mut Shared<A>,
    memory: Rc<Memory>,
    rows: Vec<WatchedRow<A>>,
}

/// A row of a shared array of arrays.
#[doc(hidden)]
pub struct WatchedRow<A: AnyArray> {
    array: *const Shared<A>,
    row: usize,
    memory: Rc<Memory>,
}

impl<const D: usize> Block<D> {
    /// What `shared` is while a kernel is watched. The name is that of the array's variable.
    #[doc(hidden)]
    pub fn watched_shared<A: AnyArray>(&self, name: &'static str) -> WatchedShared<A> {
        let memory = Memory::new(&self.running, name, A::LENGTH, A::COLUMNS);
        let array = Box::into_raw(Box::new(self.shared::<A>()));
        let row = |row| WatchedRow { array: array.cast_const(), row, memory: Rc::clone(&memory) };
        let rows = (0..A::ROWS).map(row).collect();
        WatchedShared { array, memory, rows }
    }
}

impl<A: AnyArray> Drop for WatchedShared<A> {
    fn drop(&mut self) {
        // SAFETY: it is from a box, and dropped once. The rows are not used in their own drop.
        drop(unsafe { Box::from_raw(self.array) });
    }
}

impl<A: AnyArray> fmt::Debug for WatchedShared<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedShared").finish_non_exhaustive()
    }
}

impl<A: AnyArray> fmt::Debug for WatchedRow<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchedRow").field("row", &self.row).finish_non_exhaustive()
    }
}

impl<A: AnyArray> WatchedShared<A> {
    fn array(&self) -> &Shared<A> {
        // SAFETY: the box lives as long as `self`, and is written through `&mut self` alone.
        unsafe { &*self.array }
    }

    /// It is as that of [`Shared`].
    ///
    /// # Safety
    /// None, as of `Watched::any_mut`.
    #[track_caller]
    pub unsafe fn any(&self, at: A::At) -> &A::Element {
        let number = A::number(at);
        self.memory.read(number, Location::caller());
        self.array().0.element(number)
    }

    /// It is as that of [`Shared`].
    ///
    /// # Safety
    /// None, as of `Watched::any_mut`.
    #[track_caller]
    pub unsafe fn any_mut(&mut self, at: A::At) -> &mut A::Element {
        let number = A::number(at);
        self.memory.write(number, Location::caller());
        self.element_mut(number)
    }

    fn element_mut(&mut self, number: usize) -> &mut A::Element {
        // SAFETY: the box lives as long as `self`, which is borrowed mutably, and the rows with it.
        unsafe { &mut *self.array }.0.element_mut(number)
    }
}

/// The array as a whole: a reference to it reads all elements.
impl<A: AnyArray> ops::Deref for WatchedShared<A> {
    type Target = Shared<A>;

    #[track_caller]
    fn deref(&self) -> &Shared<A> {
        read_all(&self.memory, 0..A::LENGTH, Location::caller());
        self.array()
    }
}

impl<A: AnyArray> tiles::sealed::Fill for WatchedShared<A> {}

/// `block.fill(&mut tile, …)`: a phase that borrows the array, so that no thread accesses it otherwise.
impl<A: AnyArray> Fill for WatchedShared<A> {
    type At = A::At;
    type Element = A::Element;

    fn places(&self) -> usize {
        A::LENGTH
    }

    fn at(&self, place: usize) -> Option<A::At> {
        Some(A::at(place))
    }

    fn set(&mut self, place: usize, value: A::Element) {
        *self.element_mut(place) = value;
    }
}

fn read_all(memory: &Memory, places: Range<usize>, line: &'static Location<'static>) {
    places.for_each(|place| memory.read(place, line));
}

/// What stands between the brackets behind a slice.
#[doc(hidden)]
pub trait Span<T>: SliceIndex<[T]> {
    /// The elements that it takes of so many, if it is within them.
    fn span(&self, length: usize) -> Range<usize>;
}

impl<T> Span<T> for usize {
    fn span(&self, length: usize) -> Range<usize> {
        if *self < length { *self..*self + 1 } else { 0..0 }
    }
}

/// A range of elements, or of rows.
#[doc(hidden)]
pub trait Part<T>: Span<T> {}

macro_rules! parts {
    ($($range:ty: |$self:ident, $length:ident| $span:expr),*) => {$(
        impl<T> Span<T> for $range {
            fn span(&self, $length: usize) -> Range<usize> {
                let $self = self.clone();
                let span: Range<usize> = $span;
                // What is not within is refused by the slice itself.
                if span.end <= $length { span } else { 0..0 }
            }
        }

        impl<T> Part<T> for $range {}
    )*};
}
parts!(
    Range<usize>: |range, length| range,
    RangeFrom<usize>: |range, length| range.start..length,
    RangeTo<usize>: |range, length| 0..range.end,
    RangeInclusive<usize>: |range, length| *range.start()..range.end().saturating_add(1),
    RangeToInclusive<usize>: |range, length| 0..range.end.saturating_add(1),
    RangeFull: |_range, length| 0..length
);

impl<T: sealed::Number, const N: usize, I: Span<T>> ops::Index<I> for WatchedShared<[T; N]>
where
    [T; N]: AnyArray,
{
    type Output = I::Output;

    #[track_caller]
    fn index(&self, index: I) -> &I::Output {
        read_all(&self.memory, index.span(N), Location::caller());
        &self.array().0.as_slice()[index]
    }
}

impl<T: sealed::Number, const N: usize> ops::Index<Index> for WatchedShared<[T; N]>
where
    [T; N]: AnyArray,
{
    type Output = T;

    #[track_caller]
    fn index(&self, index: Index) -> &T {
        &self[index.get()]
    }
}

impl<T: sealed::Number, const R: usize, const C: usize> ops::Index<usize> for WatchedShared<[[T; C]; R]>
where
    [[T; C]; R]: AnyArray,
{
    type Output = WatchedRow<[[T; C]; R]>;

    #[track_caller]
    fn index(&self, row: usize) -> &Self::Output {
        &self.rows[row]
    }
}

impl<T: sealed::Number, const R: usize, const C: usize> ops::Index<Index> for WatchedShared<[[T; C]; R]>
where
    [[T; C]; R]: AnyArray,
{
    type Output = WatchedRow<[[T; C]; R]>;

    #[track_caller]
    fn index(&self, row: Index) -> &Self::Output {
        &self.rows[row.get()]
    }
}

impl<T: sealed::Number, const R: usize, const C: usize, I: Part<[T; C]>> ops::Index<I>
    for WatchedShared<[[T; C]; R]>
where
    [[T; C]; R]: AnyArray,
{
    type Output = I::Output;

    #[track_caller]
    fn index(&self, rows: I) -> &I::Output {
        let span = rows.span(R);
        read_all(&self.memory, span.start * C..span.end * C, Location::caller());
        &self.array().0.as_slice()[rows]
    }
}

impl<T: sealed::Number, const N: usize> WatchedShared<[T; N]>
where
    [T; N]: AnyArray,
{
    /// It is as that of a slice.
    ///
    /// # Safety
    /// None: it is checked here.
    #[track_caller]
    pub unsafe fn get_unchecked_in_kernel(&self, place: usize) -> &T {
        read_all(&self.memory, Span::<T>::span(&place, N), Location::caller());
        // SAFETY: it is checked.
        unsafe { self.array().0.as_slice().get_unchecked_in_kernel(place) }
    }
}

impl<T: sealed::Number, const R: usize, const C: usize> WatchedRow<[[T; C]; R]> {
    /// It is as that of a slice.
    ///
    /// # Safety
    /// None: it is checked here.
    #[track_caller]
    pub unsafe fn get_unchecked_in_kernel(&self, place: usize) -> &T {
        self.read(Span::<T>::span(&place, C), Location::caller());
        // SAFETY: it is checked.
        unsafe { self.values().as_slice().get_unchecked_in_kernel(place) }
    }

    /// Notes that some elements of the row are read.
    fn read(&self, columns: Range<usize>, line: &'static Location<'static>) {
        let first = self.row * C;
        read_all(&self.memory, first + columns.start..first + columns.end, line);
    }

    fn values(&self) -> &[T; C] {
        // SAFETY: a row is reached through its array, which is borrowed as long as the row is.
        let array = unsafe { &*self.array };
        &array.0[self.row]
    }
}

impl<T: sealed::Number, const R: usize, const C: usize, I: Span<T>> ops::Index<I>
    for WatchedRow<[[T; C]; R]>
{
    type Output = I::Output;

    #[track_caller]
    fn index(&self, index: I) -> &I::Output {
        self.read(index.span(C), Location::caller());
        &self.values().as_slice()[index]
    }
}

impl<T: sealed::Number, const R: usize, const C: usize> ops::Index<Index> for WatchedRow<[[T; C]; R]> {
    type Output = T;

    #[track_caller]
    fn index(&self, index: Index) -> &T {
        &self[index.get()]
    }
}

/// The row as a whole: a reference to it reads all of it.
impl<T: sealed::Number, const R: usize, const C: usize> ops::Deref for WatchedRow<[[T; C]; R]> {
    type Target = [T; C];

    #[track_caller]
    fn deref(&self) -> &[T; C] {
        self.read(0..C, Location::caller());
        self.values()
    }
}

/// Calls a kernel for the index of each thread of a grid, one after another. `kernel` is handed what tells its
/// data which thread runs. A panic of the kernel, or a race of two threads, goes on as a
/// [`KernelFault`](super::KernelFault).
#[doc(hidden)]
pub fn watched_indices<const D: usize, K: FnMut(Index<D>)>(
    grid: Grid,
    kernel: impl FnOnce(&Rc<Running>) -> K,
) {
    let axes = launch::axes(grid);
    let running = Rc::new(Running::of_indices(axes, D));
    let mut kernel = kernel(&running);
    let outcome = fault::running(grid.block_dim, |current: &mut [usize; D]| {
        for number in 0..axes.iter().product() {
            running.set(Some(number));
            current.copy_from_slice(&index_of(number, axes)[3 - D..]);
            kernel(Index(*current));
        }
    });
    if let Err(fault) = outcome {
        fault.resume();
    }
}

/// Calls a kernel for each block of a grid, as [`watched_indices`] does for each index.
#[doc(hidden)]
pub fn watched_blocks<const D: usize, K: FnMut(Block<D>)>(of: Grid, kernel: impl FnOnce(&Rc<Running>) -> K) {
    let grid = [2, 1, 0].map(|axis| of.grid_dim[axis] as usize);
    let threads = of.block_dim[0] as usize;
    let running = Rc::new(Running::of_blocks(grid, D, threads));
    let mut kernel = kernel(&running);
    for number in 0..grid.iter().product() {
        running.begin_block();
        let place = index_of(number, grid);
        let dynamic = Dynamic::new(of.shared);
        let block = Block { place, grid, threads, dynamic, running: Rc::clone(&running), company: None };
        if let Err(fault) = fault::in_block(&place[3 - D..], &running, || kernel(block)) {
            fault.resume();
        }
    }
}
