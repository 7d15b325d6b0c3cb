//! The launch of a kernel on the host.

use std::ops::Range;

use rayon::prelude::*;

use super::fault::{self, KernelFault};
use super::native::Index;
use crate::base::threads::Grid;

/// The threads that one task runs, one after another: enough that starting the task costs little.
const TASK: usize = 1 << 13;

/// Calls a kernel for the index of each thread of a grid. Each thread of the host that takes part has its kernel
/// from `kernel`, for some indices in order along x. If the kernel panics, the first index that does is the
/// outcome: the panic goes on as a [`KernelFault`].
#[doc(hidden)]
#[inline]
pub fn indices<const D: usize, K: FnMut(Index<D>)>(grid: Grid, kernel: impl Fn() -> K + Sync) {
    let extents = axes(grid);
    let threads: usize = extents.iter().product();
    let tasks = threads.div_ceil(TASK);
    in_order(tasks, |task| run(extents, task * TASK..threads.min((task + 1) * TASK), kernel()));
}

/// The threads of a grid along each axis, x last.
pub(super) fn axes(grid: Grid) -> [usize; 3] {
    [2, 1, 0].map(|axis| grid.grid_dim[axis] as usize * grid.block_dim[axis] as usize)
}

/// Runs the tasks of a launch on all threads of the host. If some of them fail, the fault of the first in
/// order goes on as a panic, so that the outcome does not depend on which is faster.
pub(super) fn in_order(tasks: usize, run: impl Fn(usize) -> Result<(), KernelFault> + Sync) {
    let fault = match tasks {
        // Starting a single task on another thread would cost more than it gives.
        1 => run(0).err(),
        _ => (0..tasks).into_par_iter().find_map_first(|task| run(task).err()),
    };
    if let Some(fault) = fault {
        fault.resume();
    }
}

/// Calls `kernel` for some of the indices of a grid, which are numbered along x first. The loops are such that
/// they cost little in programs that are compiled without optimisation, where an iterator calls functions.
#[inline]
pub(super) fn run<const D: usize>(
    [_, y, x]: [usize; 3],
    range: Range<usize>,
    mut kernel: impl FnMut(Index<D>),
) -> Result<(), KernelFault> {
    fault::running(|current| {
        let mut next = range.start;
        while next < range.end {
            let (row, first) = (next / x, next % x);
            let end = x.min(first + (range.end - next));
            let mut at = [row / y, row % y, first];
            while at[2] < end {
                let mut axis = 0;
                while axis < D {
                    current[axis] = at[3 - D + axis];
                    axis += 1;
                }
                kernel(Index(*current));
                at[2] += 1;
            }
            next += end - first;
        }
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::native::Own;
    use super::*;

    #[test]
    fn each_index_has_its_own_element() {
        let grid = Grid { grid_dim: [2, 3, 1], block_dim: [2, 1, 1], shared: 0 };
        let mut data = [0; 6];
        let address = data.as_mut_ptr().expose_provenance();
        let outside = AtomicUsize::new(0);
        indices::<2, _>(grid, || {
            let data = std::ptr::with_exposed_provenance_mut::<i32>(address);
            // SAFETY: the shape is that of the data, which is borrowed for the launch.
            let mut own = unsafe { Own::<[i32]>::new(data, [1, 2, 3]) };
            let outside = &outside;
            move |at| match own.get_mut(at) {
                Some(element) => *element += 10 + (at.get()[0] * 10 + at.get()[1]) as i32,
                None => drop(outside.fetch_add(1, Ordering::Relaxed)),
            }
        });
        // Twelve threads, of which six have no element.
        assert_eq!((data, outside.into_inner()), ([10, 11, 12, 20, 21, 22], 6));
    }

    #[test]
    fn every_index_comes_once_in_tasks_that_end_within_a_row() {
        // Rows of 5 * 211 threads, so that no task ends with a row.
        let grid = Grid { grid_dim: [5, 3, 2], block_dim: [211, 2, 3], shared: 0 };
        let [z, y, x] = [6, 6, 1055];
        assert!(z * y * x > 4 * TASK);
        let seen: Vec<AtomicUsize> = (0..z * y * x).map(|_| AtomicUsize::new(0)).collect();
        indices::<3, _>(grid, || {
            let seen = &seen;
            move |index| {
                let [z, y, x] = index.get();
                seen[(z * 6 + y) * 1055 + x].fetch_add(1, Ordering::Relaxed);
            }
        });
        assert!(seen.iter().all(|times| times.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn the_first_fault_in_order_is_told() {
        let grid = Grid { grid_dim: [1024, 1, 1], block_dim: [256, 1, 1], shared: 0 };
        for _ in 0..20 {
            let outcome = std::panic::catch_unwind(|| {
                indices::<1, _>(grid, || |index| assert!(index.get() < 100_000));
            });
            let payload = outcome.expect_err("it panicked");
            let fault = payload.downcast_ref::<KernelFault>().expect("a kernel's fault");
            assert!(fault.to_string().ends_with("the thread of index 100000"), "{fault}");
        }
    }
}
