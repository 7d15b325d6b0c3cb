//! The launch of a kernel whose threads divide their index by one number.

use super::launch::{Line, Noted, lines};
use super::native::Index;
use crate::base::threads::Grid;

/// An index as a row and a column, or as many rows and columns.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowColumn {
    /// The index divided by the length of a row.
    pub row: usize,
    /// The remainder.
    pub column: usize,
}

impl RowColumn {
    #[inline(always)]
    pub fn row(self) -> usize {
        self.row
    }

    #[inline(always)]
    pub fn column(self) -> usize {
        self.column
    }
}

// Note 70: on the host, threads that divide their index by one number are rows.
/// [`indices`](super::indices) for a kernel that takes its index also as a row and a column of rows with `length` elements
/// each, which is not 0: the host divides once a row.
///
/// Beside the kernel stand the number of indices within which its checks hold, and the limits of rows and columns up to
/// which its tables go: the loops over these are such that compilers vectorise them. No soundness rests on the numbers.
#[doc(hidden)]
#[inline]
pub fn indices_divided<K: FnMut(Index, RowColumn)>(
    grid: Grid,
    length: usize,
    may_wait: bool,
    kernel: impl Fn() -> (usize, RowColumn, K) + Sync,
) {
    lines(grid, may_wait, || {
        let (within, limits, kernel) = kernel();
        (within, Divided { length, limits, kernel })
    });
}

struct Divided<K> {
    /// The elements of a row.
    length: usize,
    /// The rows and the columns that the kernel's tables have.
    limits: RowColumn,
    kernel: K,
}

impl<K: FnMut(Index, RowColumn)> Line<1> for Divided<K> {
    #[inline(always)]
    fn fast(&mut self, at_ends: &mut Self, index: [usize; 1], end: usize, current: &mut [usize; 1]) {
        // Rows as short as pixels are loops of their own, in which compilers take several rows at once.
        match self.length {
            1 => self.rows_of::<1>(at_ends, index, end, current),
            2 => self.rows_of::<2>(at_ends, index, end, current),
            3 => self.rows_of::<3>(at_ends, index, end, current),
            4 => self.rows_of::<4>(at_ends, index, end, current),
            _ => self.rows(at_ends, index, end, current),
        }
    }

    #[inline(never)]
    fn ends(&mut self, index: [usize; 1], end: usize, current: &mut [usize; 1]) {
        let mut position = self.position(index[0]);
        let mut noted = Noted { index, current };
        while noted.index[0] < end {
            (self.kernel)(Index(noted.index), position);
            noted.index[0] += 1;
            position.column += 1;
            if position.column == self.length {
                position = RowColumn { row: position.row + 1, column: 0 };
            }
        }
    }
}

impl<K: FnMut(Index, RowColumn)> Divided<K> {
    #[inline]
    fn position(&self, index: usize) -> RowColumn {
        RowColumn { row: index / self.length, column: index % self.length }
    }

    /// Calls the kernel for indices in rows of `N` elements.
    #[inline(always)]
    fn rows_of<const N: usize>(
        &mut self,
        at_ends: &mut Self,
        index: [usize; 1],
        end: usize,
        current: &mut [usize; 1],
    ) {
        let first_row = index[0].div_ceil(N);
        let end_of_rows = (end / N).min(self.limits.row);
        if first_row >= end_of_rows || self.limits.column < N {
            return at_ends.ends(index, end, current);
        }
        at_ends.ends(index, first_row * N, current);
        let mut noted = Noted { index: [first_row * N], current };
        let mut row = first_row;
        while row < end_of_rows {
            let mut column = 0;
            while column < N {
                noted.index[0] = row * N + column;
                // SAFETY: the row is before the last one that ends at `end`, and the column is in it.
                unsafe { std::hint::assert_unchecked(noted.index[0] < end) };
                (self.kernel)(Index(noted.index), RowColumn { row, column });
                column += 1;
            }
            row += 1;
        }
        drop(noted);
        at_ends.ends([end_of_rows * N], end, current);
    }

    /// Calls the kernel for indices in rows of any length.
    #[inline(always)]
    fn rows(&mut self, at_ends: &mut Self, index: [usize; 1], end: usize, current: &mut [usize; 1]) {
        let mut next = index[0];
        while next < end {
            let RowColumn { row, column } = self.position(next);
            let first = next - column;
            let end_of_row = end.min(first.saturating_add(self.length));
            let within = if row < self.limits.row { self.limits.column } else { 0 };
            let inner = end_of_row.min(first.saturating_add(within));
            if next < inner {
                let mut column = column;
                let end = inner - first;
                let mut noted = Noted { index: [next], current };
                while column < end {
                    noted.index[0] = first + column;
                    (self.kernel)(Index(noted.index), RowColumn { row, column });
                    column += 1;
                }
                next = inner;
            }
            if next < end_of_row {
                at_ends.ends([next], end_of_row, current);
                next = end_of_row;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::sync::Mutex;

    use super::super::fault::KernelFault;
    use super::*;

    /// So many threads, in blocks of 7, that more than one task has some.
    const GRID: Grid = Grid { grid_dim: [1300, 1, 1], block_dim: [7, 1, 1], shared: 0 };
    const THREADS: usize = 9100;

    /// What the threads of a launch see, or what the first that fails says: the one of index `fails`.
    fn launch(length: usize, within: usize, limits: RowColumn, fails: usize) -> Result<(), String> {
        let seen = Mutex::new(vec![None; THREADS]);
        let launch = || {
            indices_divided(GRID, length, false, || {
                let seen = &seen;
                let kernel = move |index: Index, place| {
                    let index = index.get();
                    let before = seen.lock().expect("no panic holds it")[index].replace(place);
                    assert_eq!(before, None, "each index comes once");
                    assert!(index != fails, "as the test wants");
                };
                (within, limits, kernel)
            });
        };
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(launch));
        let fault = |payload: Box<dyn std::any::Any + Send>| {
            payload.downcast_ref::<KernelFault>().expect("a kernel's fault").to_string()
        };
        outcome.map_err(fault)?;
        let seen = seen.into_inner().expect("no panic holds it");
        for (index, place) in seen.into_iter().enumerate() {
            let expected = RowColumn { row: index / length, column: index % length };
            assert_eq!(place, Some(expected), "{index} of rows of {length}, {within}, {limits:?}");
        }
        Ok(())
    }

    #[test]
    fn each_thread_has_its_row_and_column() {
        for length in [1, 2, 3, 4, 5, 7, 64, 8192, 9099, 9100, 10_000, usize::MAX] {
            for within in [0, 4, 9000, THREADS, usize::MAX] {
                for (row, column) in
                    [(0, 0), (usize::MAX, 2), (100, usize::MAX), (usize::MAX, usize::MAX), (100, 3), (0, 9)]
                {
                    assert_eq!(launch(length, within, RowColumn { row, column }, usize::MAX), Ok(()));
                }
            }
        }
    }

    #[test]
    fn the_thread_that_fails_is_named() {
        let limits = RowColumn { row: usize::MAX, column: usize::MAX };
        for length in [1, 2, 3, 4, 5, 1000] {
            for fails in [0, 1, 2, 3, 4000, 4001, 4002, 4003, 4004, 8191, 8192, 8193, 9099] {
                let fault = launch(length, THREADS, limits, fails).expect_err("it fails");
                let (block, thread) = (fails / 7, fails % 7);
                let named = format!("the thread of index {fails}, thread {thread} of block {block}");
                assert!(fault.ends_with(&named), "{length}, {fails}: {fault}");
            }
        }
    }
}
