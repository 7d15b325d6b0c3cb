//! Tiles and rows on the host: parts of data with a shape that a block has for itself.

use std::fmt;
use std::iter::StepBy;
use std::marker::PhantomData;
use std::ops::Range;

use super::blocks::{Block, BlockThread};
use super::native::{Out, Own};

/// A rectangle of `R` rows and `C` columns of data with a shape. Of the tiles of one size, no two blocks of a
/// launch have the same.
///
/// Only [`Block::tiles`] makes one, so that [`Own::tile`] gives a block its own elements alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile<const R: usize, const C: usize> {
    item: usize,
    top: usize,
    left: usize,
}

impl<const R: usize, const C: usize> Tile<R, C> {
    /// The index along the first of three axes; 0 if there are two.
    #[inline]
    pub fn item(self) -> usize {
        self.item
    }

    /// The first row, a multiple of `R`.
    #[inline]
    pub fn top(self) -> usize {
        self.top
    }

    /// The first column, a multiple of `C`.
    #[inline]
    pub fn left(self) -> usize {
        self.left
    }

    /// The part of the tile that a thread has: `P` by `Q` elements, of which no other thread of the block has any.
    ///
    /// # Panics
    /// If the block has not as many threads as the tile has parts.
    #[inline]
    #[track_caller]
    pub fn part<const P: usize, const Q: usize>(self, thread: BlockThread) -> Part<R, C, P, Q> {
        Part::<R, C, P, Q>::fits(thread.threads());
        Part::of(thread)
    }
}

/// The places in a tile of `R` rows and `C` columns of the elements that one thread has, `P` rows of `Q`.
///
/// If `Q` is a multiple of 4, four elements of a thread stand beside each other, then four of the next thread, and so
/// on along the row; the next four of the first thread follow after those of the last. The rows are dealt in the
/// same way, by `P`. Else a thread has single rows and columns. So threads beside each other read a row of shared
/// memory at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<const R: usize, const C: usize, const P: usize, const Q: usize> {
    down: usize,
    across: usize,
}

impl<const R: usize, const C: usize, const P: usize, const Q: usize> Part<R, C, P, Q> {
    /// The threads of a block, one for each part.
    const THREADS: usize = {
        assert!(P > 0 && Q > 0, "a part has elements");
        assert!(R.is_multiple_of(P) && C.is_multiple_of(Q), "the parts of a tile have the same size");
        R / P * (C / Q)
    };

    #[track_caller]
    pub(super) fn fits(threads: usize) {
        let parts = Self::THREADS;
        assert!(threads == parts, "a tile has {parts} parts, and the block {threads} threads");
    }

    pub(super) fn of(thread: BlockThread) -> Self {
        Self { down: thread.rank() / (C / Q), across: thread.rank() % (C / Q) }
    }

    /// The row in the tile of the part's row `i`.
    ///
    /// # Panics
    /// If `i` is not below `P`.
    #[inline]
    #[track_caller]
    pub fn row(self, i: usize) -> usize {
        assert!(i < P, "index out of bounds: the len is {P} but the index is {i}");
        dealt(i, self.down, P, R / P)
    }

    /// The column in the tile of the part's column `j`.
    ///
    /// # Panics
    /// If `j` is not below `Q`.
    #[inline]
    #[track_caller]
    pub fn column(self, j: usize) -> usize {
        assert!(j < Q, "index out of bounds: the len is {Q} but the index is {j}");
        dealt(j, self.across, Q, C / Q)
    }
}

/// The place of the element `i` of `each`, of the thread `thread` of so many.
fn dealt(i: usize, thread: usize, each: usize, threads: usize) -> usize {
    let together = if each.is_multiple_of(4) { 4 } else { 1 };
    i / together * (threads * together) + thread * together + i % together
}

/// A row of data with a shape: all elements along the last axis. No two blocks of a launch have the same.
///
/// Only [`Block::rows`] makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row(usize);

impl Row {
    /// The number of the row, counted along the axis before the last first.
    #[inline]
    pub fn get(self) -> usize {
        self.0
    }
}

/// The block's [tiles](Block::tiles), one after another.
#[derive(Debug, Clone)]
pub struct Tiles<const R: usize, const C: usize> {
    next: [usize; 3],
    /// The first tile, the step from one to the next and the number of all, along each axis.
    first: [usize; 3],
    step: [usize; 3],
    count: [usize; 3],
}

impl<const R: usize, const C: usize> Iterator for Tiles<R, C> {
    type Item = Tile<R, C>;

    fn next(&mut self) -> Option<Tile<R, C>> {
        let Self { next, first, step, count } = self;
        if (0..3).any(|axis| next[axis] >= count[axis]) {
            return None;
        }
        let [item, row, column] = *next;
        for axis in [2, 1, 0] {
            next[axis] += step[axis];
            if next[axis] < count[axis] || axis == 0 {
                break;
            }
            next[axis] = first[axis];
        }
        Some(Tile { item, top: row * R, left: column * C })
    }
}

/// The block's [rows](Block::rows), one after another.
#[derive(Debug, Clone)]
pub struct Rows(StepBy<Range<usize>>);

impl Iterator for Rows {
    type Item = Row;

    #[inline]
    fn next(&mut self) -> Option<Row> {
        self.0.next().map(Row)
    }
}

// Note 64: tiles are dealt along the axes of the grid.
impl<const D: usize> Block<D> {
    /// The lengths of the axes of a parameter's data, the one that varies fastest last.
    #[inline]
    pub fn shape(&self, of: &impl Elements) -> [usize; D] {
        let mut shape = [1; D];
        shape.copy_from_slice(&of.axes()[3 - D..]);
        shape
    }

    /// The block's own tiles of a parameter's data: all blocks of the grid together have each tile once. The
    /// first is that of the block's place in the grid, and the others follow in steps of the grid's size, so that
    /// a block of a grid with a block for each tile has one.
    #[inline]
    pub fn tiles<const R: usize, const C: usize>(&self, of: &impl Elements) -> Tiles<R, C> {
        const { assert!(R > 0 && C > 0 && R.saturating_mul(C) <= 1 << 24, "a tile has 1 to 2^24 elements") };
        let ([items, rows, columns], first) = (of.axes(), self.place());
        let count = [items, rows.div_ceil(R), columns.div_ceil(C)];
        Tiles { next: first, first, step: self.grid(), count }
    }

    /// The block's own rows of a parameter's data: all blocks of the grid together have each row once.
    #[inline]
    pub fn rows(&self, of: &impl Elements) -> Rows {
        let [items, rows, columns] = of.axes();
        // Rows without elements may be more than can be counted.
        let rows = if columns == 0 { 0 } else { items * rows };
        Rows((self.number()..rows).step_by(self.grid().iter().product()))
    }
}

/// What [`Block::fill`] writes: all of it, each element by one thread.
pub trait Fill: sealed::Fill {
    /// The place of an element: a number, or a row and a column.
    type At;
    /// An element.
    type Element;
    /// The number of places.
    #[doc(hidden)]
    fn places(&self) -> usize;
    /// The place of this number, if it is within the data.
    #[doc(hidden)]
    fn at(&self, place: usize) -> Option<Self::At>;
    #[doc(hidden)]
    fn set(&mut self, place: usize, value: Self::Element);
}

/// The part of a tile that is within the data: what [`Own::tile`] gives, for [`Block::fill`].
pub struct OwnTile<'a, T, const R: usize, const C: usize> {
    data: *mut T,
    /// The place of the first element, and how many further the next row begins.
    first: usize,
    pitch: usize,
    rows: usize,
    columns: usize,
    lent: PhantomData<&'a mut [T]>,
}

impl<'a, T, const R: usize, const C: usize> OwnTile<'a, T, R, C> {
    /// # Safety
    /// `data` has the elements of the shape for `'a`, and those of the tile are the caller's alone.
    pub(super) unsafe fn new(data: *mut T, [items, rows, columns]: [usize; 3], at: Tile<R, C>) -> Self {
        let Tile { item, top, left } = at;
        let rows_left = if item < items { rows.saturating_sub(top) } else { 0 };
        // The tile may be one of other data, of which these have nothing.
        let first = item.wrapping_mul(rows).wrapping_add(top).wrapping_mul(columns).wrapping_add(left);
        let columns_left = columns.saturating_sub(left);
        Self {
            data,
            first,
            pitch: columns,
            rows: rows_left.min(R),
            columns: columns_left.min(C),
            lent: PhantomData,
        }
    }
}

impl<T, const R: usize, const C: usize> Fill for OwnTile<'_, T, R, C> {
    type At = [usize; 2];
    type Element = T;

    #[inline]
    fn places(&self) -> usize {
        R * C
    }

    #[inline]
    fn at(&self, place: usize) -> Option<[usize; 2]> {
        let [row, column] = [place / C, place % C];
        (row < self.rows && column < self.columns).then_some([row, column])
    }

    #[inline]
    fn set(&mut self, place: usize, value: T) {
        if let Some([row, column]) = self.at(place) {
            // SAFETY: the row and the column are within the data and within the tile, which are the caller's
            // alone by the promise of `new`.
            unsafe { self.data.add(self.first + row * self.pitch + column).write(value) }
        }
    }
}

impl<T, const R: usize, const C: usize> fmt::Debug for OwnTile<'_, T, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, .. } = self;
        f.debug_struct("OwnTile").field("rows", rows).field("columns", columns).finish_non_exhaustive()
    }
}

/// The elements of a row: what [`Own::row`] gives, for [`Block::fill`].
pub struct OwnRow<'a, T> {
    data: *mut T,
    first: usize,
    columns: usize,
    lent: PhantomData<&'a mut [T]>,
}

impl<T> OwnRow<'_, T> {
    /// # Safety
    /// `data` has the elements of the shape for `'a`, and those of the row are the caller's alone.
    pub(super) unsafe fn new(data: *mut T, [items, rows, columns]: [usize; 3], row: Row) -> Self {
        // The row may be one of other data, of which these have none.
        let columns = if row.0 < items * rows { columns } else { 0 };
        Self { data, first: row.0.wrapping_mul(columns), columns, lent: PhantomData }
    }
}

impl<T> Fill for OwnRow<'_, T> {
    type At = usize;
    type Element = T;

    #[inline]
    fn places(&self) -> usize {
        self.columns
    }

    #[inline]
    fn at(&self, place: usize) -> Option<usize> {
        (place < self.columns).then_some(place)
    }

    #[inline]
    fn set(&mut self, place: usize, value: T) {
        if place < self.columns {
            // SAFETY: the place is within the row, which is the caller's alone by the promise of `new`.
            unsafe { self.data.add(self.first + place).write(value) }
        }
    }
}

impl<T> fmt::Debug for OwnRow<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnRow").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// Data with a shape: [`Own`] and [`Out`].
pub trait Elements: sealed::Elements {
    /// The lengths of the axes, of which the first are 1 if there are fewer than three.
    #[doc(hidden)]
    fn axes(&self) -> [usize; 3];
}

impl<T> Elements for Own<[T]> {
    #[inline]
    fn axes(&self) -> [usize; 3] {
        self.shape()
    }
}

impl<T> Elements for Out<[T]> {
    #[inline]
    fn axes(&self) -> [usize; 3] {
        self.shape()
    }
}

pub(super) mod sealed {
    use super::{Out, Own, OwnRow, OwnTile};

    pub trait Fill {}
    impl<T, const R: usize, const C: usize> Fill for OwnTile<'_, T, R, C> {}
    impl<T> Fill for OwnRow<'_, T> {}

    pub trait Elements {}
    impl<T> Elements for Own<[T]> {}
    impl<T> Elements for Out<[T]> {}
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::super::blocks::blocks;
    use super::*;
    use crate::base::threads::Grid;

    /// Data of this shape in which each block has added 1 to what it has by `part`.
    fn touched(
        shape: [usize; 3],
        grid_dim: [u32; 3],
        part: impl Fn(&Block<3>, &mut Own<[u32]>, &dyn Fn(usize)) + Sync,
    ) -> Vec<u32> {
        let grid = Grid { grid_dim, block_dim: [5, 1, 1], shared: 0 };
        let touched: Vec<AtomicU32> = (0..shape.iter().product()).map(|_| AtomicU32::new(0)).collect();
        let mut data = vec![0; touched.len()];
        let address = data.as_mut_ptr().expose_provenance();
        blocks::<3, _>(grid, false, || {
            let data = std::ptr::with_exposed_provenance_mut::<u32>(address);
            // SAFETY: the shape is that of the data, which is borrowed for the launch.
            let mut own = unsafe { Own::<[u32]>::new(data, shape) };
            let (touched, part) = (&touched, &part);
            let touch = |place: usize| {
                touched[place].fetch_add(1, Ordering::Relaxed);
            };
            move |block| part(&block, &mut own, &touch)
        });
        assert!(data.iter().all(|&value| value == 7), "each is written: {data:?}");
        touched.into_iter().map(AtomicU32::into_inner).collect()
    }

    const GRIDS: [[u32; 3]; 5] = [[1, 1, 1], [2, 1, 1], [3, 2, 2], [1, 5, 3], [9, 9, 9]];

    #[test]
    fn each_element_is_in_one_tile_of_one_block() {
        for shape in [[1, 1, 1], [2, 3, 4], [3, 7, 9], [2, 8, 16]] {
            for grid in GRIDS {
                let times = touched(shape, grid, |block, own, touch| {
                    for at in block.tiles::<4, 8>(own) {
                        block.fill(&mut own.tile(at), |[r, c]| {
                            touch((at.item() * shape[1] + at.top() + r) * shape[2] + at.left() + c);
                            7
                        });
                    }
                });
                assert!(times.iter().all(|&times| times == 1), "{shape:?} by {grid:?}: {times:?}");
            }
        }
    }

    #[test]
    fn each_element_is_in_one_row_of_one_block() {
        for shape in [[1, 1, 1], [2, 3, 4], [3, 7, 9]] {
            for grid in GRIDS {
                let times = touched(shape, grid, |block, own, touch| {
                    assert_eq!(block.shape(own), shape);
                    for row in block.rows(own) {
                        block.fill(&mut own.row(row), |c| {
                            touch(row.get() * shape[2] + c);
                            7
                        });
                    }
                });
                assert!(times.iter().all(|&times| times == 1), "{shape:?} by {grid:?}: {times:?}");
            }
        }
    }

    #[test]
    fn each_element_of_a_tile_is_in_one_part() {
        fn all<const R: usize, const C: usize, const P: usize, const Q: usize>() {
            let mut times = [[0; C]; R];
            let parts = (0..R / P).flat_map(|down| (0..C / Q).map(move |across| [down, across]));
            for [down, across] in parts {
                let part = Part::<R, C, P, Q> { down, across };
                for i in 0..P {
                    (0..Q).for_each(|j| times[part.row(i)][part.column(j)] += 1);
                }
            }
            assert_eq!(times, [[1; C]; R]);
        }
        all::<128, 128, 8, 8>();
        all::<32, 64, 4, 2>();
        all::<6, 12, 3, 12>();
        let part = Part::<128, 128, 8, 8> { down: 3, across: 15 };
        assert_eq!([0, 3, 4].map(|i| part.row(i)), [12, 15, 76]);
        assert_eq!([0, 7].map(|j| part.column(j)), [60, 127]);
    }

    #[test]
    fn parts_of_other_data_have_nothing_beyond_the_end() {
        let mut data = [0_u32; 6];
        // SAFETY: the shape is that of the data, which nobody else uses.
        let mut own = unsafe { Own::<[u32]>::new(data.as_mut_ptr(), [1, 2, 3]) };
        let at = Tile::<2, 2> { item: 0, top: 0, left: 2 };
        assert_eq!((0..4).filter_map(|place| own.tile(at).at(place)).collect::<Vec<_>>(), [[0, 0], [1, 0]]);
        own.tile(at).set(2, 5);
        own.tile(at).set(3, 9);
        for at in [Tile::<2, 2> { item: 1, top: 0, left: 0 }, Tile { item: 0, top: 2, left: 4 }] {
            assert!((0..4).all(|place| own.tile(at).at(place).is_none()));
            own.tile(at).set(0, 9);
        }
        own.row(Row(1)).set(1, 6);
        own.row(Row(1)).set(3, 9);
        own.row(Row(2)).set(0, 9);
        assert_eq!(own.row(Row(2)).places(), 0);
        assert_eq!(data, [0, 0, 0, 0, 6, 5]);
    }
}
