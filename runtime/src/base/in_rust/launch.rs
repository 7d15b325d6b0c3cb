//! The launch of a kernel on the host.

use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rayon::prelude::*;

use super::fault::{self, KernelFault};
use super::native::Index;
use super::replay;
use crate::base::team::Team;
use crate::base::threads::Grid;

// Note 69: tasks share cache lines at their ends alone.
/// The threads that one task runs, one after another: enough that starting the task costs little.
const TASK: usize = 1 << 13;

/// Calls a kernel for the index of each thread of a grid. Each thread of the host that takes part has its kernel
/// from `kernel`, for some indices in order along x. If the kernel panics, the first index that does is the
/// outcome: the panic goes on as a [`KernelFault`].
///
/// Where threads `may_wait` for each other, they are taken in order.
///
/// Beside the kernel stands a number of indices along x within which its checks hold, if they ever do: the
/// loop over these is one that compilers vectorise.
#[doc(hidden)]
#[inline]
pub fn indices<const D: usize, K: FnMut(Index<D>)>(
    grid: Grid,
    may_wait: bool,
    kernel: impl Fn() -> (usize, K) + Sync,
) {
    lines(grid, may_wait, || {
        let (within, kernel) = kernel();
        (within, OneByOne(kernel))
    });
}

/// Goes through the lines of a grid's threads along x, parts of which are tasks.
#[inline]
pub(super) fn lines<const D: usize, L: Line<D>>(
    grid: Grid,
    may_wait: bool,
    kernel: impl Fn() -> (usize, L) + Sync,
) {
    let extents = axes(grid);
    let threads: usize = extents.iter().product();
    // A search goes on after a thread that has failed elsewhere.
    let each = if replay::is_searching() { 1 } else { TASK };
    let range = |task: usize| task * each..threads.min((task + 1) * each);
    in_order(threads.div_ceil(each), may_wait, |task| run(extents, grid.block_dim, range(task), &kernel));
}

/// The threads of a grid along each axis, x last.
pub(super) fn axes(grid: Grid) -> [usize; 3] {
    [2, 1, 0].map(|axis| grid.grid_dim[axis] as usize * grid.block_dim[axis] as usize)
}

/// The threads of the host that run a launch.
#[derive(Clone, Copy)]
pub(crate) enum Hands {
    /// The pool of rayon that the calling thread belongs to.
    Pool,
    /// The calling thread, and those of a team that are free.
    Team(&'static Team),
    /// The calling thread: for launches that are so small that waking another would take longer.
    Alone,
}

thread_local! {
    /// Who runs the launches of this thread.
    static HANDS: Cell<Hands> = const { Cell::new(Hands::Pool) };
}

/// Calls `work`, whose launches are run by these threads.
pub(crate) fn with_hands<R>(hands: Hands, work: impl FnOnce() -> R) -> R {
    struct Before(Hands);
    impl Drop for Before {
        fn drop(&mut self) {
            HANDS.set(self.0);
        }
    }
    let _before = Before(HANDS.replace(hands));
    work()
}

/// How many threads of the host run a launch of this thread at most.
pub(super) fn threads_of_host() -> usize {
    match HANDS.get() {
        Hands::Alone => 1,
        Hands::Pool => rayon::current_num_threads(),
        Hands::Team(team) => team.threads(),
    }
}

/// Runs the tasks of a launch on all threads of the host. If some of them fail, the fault of the first in
/// order goes on as a panic, so that the outcome does not depend on which is faster.
/// Where tasks `may_wait` for those before them, they are taken in order.
pub(super) fn in_order(tasks: usize, may_wait: bool, run: impl Fn(usize) -> Result<(), KernelFault> + Sync) {
    let fault = match (replay::search(), tasks) {
        (Some(search), _) => search.first(tasks, run),
        // Starting a single task on another thread would cost more than it gives.
        (None, 1) => run(0).err(),
        (None, _) => match HANDS.get() {
            Hands::Alone => (0..tasks).find_map(|task| run(task).err()),
            Hands::Pool => (0..tasks).into_par_iter().find_map_first(|task| run(task).err()),
            Hands::Team(team) => by_team(team, tasks, may_wait, run),
        },
    };
    if let Some(fault) = fault {
        fault.resume();
    }
}

/// A part of the tasks: a thread goes through one of them, and reads memory in order, before it helps others. The
/// counters of two threads are in different cache lines.
#[repr(align(128))]
struct Part {
    next: AtomicUsize,
    end: usize,
}

/// Runs the tasks. Each thread takes those of a part of its own in order, and then those that are left of the
/// others. The result is the fault of the first task that fails: all before it are run to their end.
///
/// Where tasks `may_wait` for those before them, there is one part: no thread takes a task before all of these have been
/// taken.
fn by_team(
    team: &'static Team,
    tasks: usize,
    may_wait: bool,
    run: impl Fn(usize) -> Result<(), KernelFault> + Sync,
) -> Option<KernelFault> {
    let threads = team.threads().min(tasks).max(1);
    let count = if may_wait { 1 } else { threads };
    let start = |part: usize| (part as u128 * tasks as u128 / count as u128) as usize;
    let part = |of: usize| Part { next: AtomicUsize::new(start(of)), end: start(of + 1) };
    let parts: Vec<_> = (0..count).map(part).collect();
    let (arrived, end) = (AtomicUsize::new(1), AtomicUsize::new(tasks));
    let first = Mutex::new(None::<(usize, KernelFault)>);
    let caller = thread::current().id();
    team.run(threads - 1, &|| {
        let mine = if thread::current().id() == caller { 0 } else { arrived.fetch_add(1, Ordering::Relaxed) };
        let (before, from_mine) = parts.split_at(mine % count);
        for part in from_mine.iter().chain(before) {
            loop {
                let task = part.next.fetch_add(1, Ordering::Relaxed);
                if task >= part.end || task >= end.load(Ordering::Relaxed) {
                    break;
                }
                if let Err(fault) = run(task) {
                    end.fetch_min(task, Ordering::Relaxed);
                    let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(earlier, _)| task < *earlier) {
                        *first = Some((task, fault));
                    }
                }
            }
        }
    });
    first.into_inner().unwrap_or_else(PoisonError::into_inner).map(|(_, fault)| fault)
}

/// Calls a kernel for some of the indices of a grid, which are numbered along x first. The loops are such that
/// they cost little in programs that are compiled without optimisation, where an iterator calls functions.
///
/// The kernels are made where they are called, so that their slices are in registers. The first thread of a line
/// and the last have another kernel than those between them: between them, neighbours are within the line, too.
#[inline]
fn run<const D: usize, L: Line<D>>(
    [_, y, x]: [usize; 3],
    block_dim: [u32; 3],
    range: Range<usize>,
    kernel: &impl Fn() -> (usize, L),
) -> Result<(), KernelFault> {
    fault::running(block_dim, |current| {
        let (within, mut between) = kernel();
        let (_, mut at_ends) = kernel();
        let mut next = range.start;
        while next < range.end {
            let (row, first) = (next / x, next % x);
            let end = x.min(first + (range.end - next));
            let mut index = index_of([row / y, row % y, first]);
            let inner = end.min(within);
            if first + 2 < inner {
                at_ends.ends(index, first + 1, current);
                index[D - 1] = first + 1;
                between.fast(&mut at_ends, index, inner - 1, current);
                index[D - 1] = inner - 1;
            }
            at_ends.ends(index, end, current);
            next += end - first;
        }
    })
}

/// The last axes of an index.
#[inline]
fn index_of<const D: usize>(at: [usize; 3]) -> [usize; D] {
    let (mut index, mut axis) = ([0; D], 0);
    while axis < D {
        index[axis] = at[3 - D + axis];
        axis += 1;
    }
    index
}

/// A kernel that is called for the threads of a line along x.
pub(super) trait Line<const D: usize> {
    /// Calls it for those from `index` to `end`: in a loop that compilers vectorise. Threads for which it cannot be called
    /// in such a loop have `at_ends`, which is the same kernel once more, so that the loop's own one stays in registers.
    fn fast(&mut self, at_ends: &mut Self, index: [usize; D], end: usize, current: &mut [usize; D]);

    /// The same for the ends of a line, and for what is beyond the data: apart, so that the kernel is compiled into
    /// one fast loop alone.
    fn ends(&mut self, index: [usize; D], end: usize, current: &mut [usize; D]);
}

/// A kernel that is called with the index alone.
struct OneByOne<K>(K);

impl<const D: usize, K: FnMut(Index<D>)> Line<D> for OneByOne<K> {
    #[inline(always)]
    fn fast(&mut self, _: &mut Self, index: [usize; D], end: usize, current: &mut [usize; D]) {
        line(index, end, current, &mut self.0);
    }

    #[inline(never)]
    fn ends(&mut self, index: [usize; D], end: usize, current: &mut [usize; D]) {
        line(index, end, current, &mut self.0);
    }
}

/// Calls a kernel for the indices from `index` to `end` along x.
#[inline(always)]
fn line<const D: usize>(
    index: [usize; D],
    end: usize,
    current: &mut [usize; D],
    kernel: &mut impl FnMut(Index<D>),
) {
    let mut noted = Noted { index, current };
    while noted.index[D - 1] < end {
        kernel(Index(noted.index));
        noted.index[D - 1] += 1;
    }
}

/// The index of the thread that runs. Where a loop ends, also by a panic, is where it is noted: a note for each thread
/// would keep compilers from vectorising the loop.
pub(super) struct Noted<'a, const D: usize> {
    pub(super) index: [usize; D],
    pub(super) current: &'a mut [usize; D],
}

impl<const D: usize> Drop for Noted<'_, D> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.current = self.index;
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;

    use super::super::native::Own;
    use super::*;

    static TEAM: Team = Team::new("thalweg-test", 2);

    const ALL_HANDS: [Hands; 3] = [Hands::Pool, Hands::Team(&TEAM), Hands::Alone];

    #[test]
    fn each_index_has_its_own_element() {
        let grid = Grid { grid_dim: [2, 3, 1], block_dim: [2, 1, 1], shared: 0 };
        let mut data = [0; 6];
        let address = data.as_mut_ptr().expose_provenance();
        let outside = AtomicUsize::new(0);
        indices::<2, _>(grid, false, || {
            let data = std::ptr::with_exposed_provenance_mut::<i32>(address);
            // SAFETY: the shape is that of the data, which is borrowed for the launch.
            let mut own = unsafe { Own::<[i32]>::new(data, [1, 2, 3]) };
            let outside = &outside;
            (own.along_x(), move |at| match own.get_mut(at) {
                Some(element) => *element += 10 + (at.get()[0] * 10 + at.get()[1]) as i32,
                None => drop(outside.fetch_add(1, Ordering::Relaxed)),
            })
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
        for hands in ALL_HANDS {
            let seen: Vec<AtomicUsize> = (0..z * y * x).map(|_| AtomicUsize::new(0)).collect();
            let launch = || {
                indices::<3, _>(grid, false, || {
                    let seen = &seen;
                    // Lines that have a part between their ends, and such a part that goes to the end.
                    (1050, move |index| {
                        let [z, y, x] = index.get();
                        seen[(z * 6 + y) * 1055 + x].fetch_add(1, Ordering::Relaxed);
                    })
                });
            };
            with_hands(hands, launch);
            assert!(seen.iter().all(|times| times.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn a_launch_without_tasks_does_nothing() {
        for hands in ALL_HANDS {
            with_hands(hands, || in_order(0, false, |_| unreachable!("there is none")));
        }
    }

    #[test]
    fn tasks_may_wait_for_those_before_them() {
        for hands in [Hands::Team(&TEAM), Hands::Alone] {
            let done = AtomicUsize::new(0);
            let run = |task| {
                while done.load(Ordering::Acquire) < task {
                    thread::yield_now();
                }
                done.store(task + 1, Ordering::Release);
                Ok(())
            };
            with_hands(hands, || in_order(1000, true, run));
            assert_eq!(done.into_inner(), 1000);
        }
    }

    #[test]
    fn the_first_fault_in_order_is_told() {
        let grid = Grid { grid_dim: [1024, 1, 1], block_dim: [256, 1, 1], shared: 0 };
        // Among those between the ends of a line, at the last of them, and beyond.
        let cases =
            [usize::MAX, 100_002, 100_001, 100_000, 0].map(|within| ALL_HANDS.map(|hands| (within, hands)));
        for (within, hands) in cases.into_iter().flatten().cycle().take(60) {
            let launch = || indices::<1, _>(grid, false, || (within, |index| assert!(index.get() < 100_000)));
            let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| with_hands(hands, launch)));
            let payload = outcome.expect_err("it panicked");
            let fault = payload.downcast_ref::<KernelFault>().expect("a kernel's fault");
            assert!(
                fault.to_string().ends_with("the thread of index 100000, thread 160 of block 390"),
                "{fault}"
            );
        }
    }
}
