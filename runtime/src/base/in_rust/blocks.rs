//! Blocks of threads on the host: one thread of the host runs the threads of a block one after another, phase
//! by phase.

mod company;
mod fetched;
mod scan;
mod shared;
mod warp;

use std::fmt;
use std::ops;
use std::rc::Rc;

use super::fault::{self, KernelFault};
use super::given::Dynamic;
use super::launch;
use super::native::{BlockIndex, Index};
use super::replay;
use super::running::{Running, index_of};
use super::tiles::{Fill, OwnTile, Part};
use crate::base::threads::Grid;

pub(super) use company::Company;
pub use fetched::Fetched;
pub use shared::{BlockValue, Shared, SharedArray, sealed};

/// A block of threads that work together: the first parameter of a `#[kernel]` in phases.
///
/// What stands outside of a phase is the same for all threads of the block. A phase is a closure that each
/// thread of the block runs, such as that of [`each`](Self::each). No thread begins the next phase before all
/// have ended this one.
///
/// A `Block<2>` or `Block<3>` is one of a grid with as many axes, as are the data of the kernel: it has
/// [tiles](Self::tiles) and [rows](Self::rows) of them.
pub struct Block<const D: usize = 1> {
    /// Its place in the grid, and the grid's size, along z, y and x.
    pub(super) place: [usize; 3],
    pub(super) grid: [usize; 3],
    pub(super) threads: usize,
    pub(super) dynamic: Rc<Dynamic>,
    /// The thread that runs.
    pub(super) running: Rc<Running>,
    /// The blocks that the same thread of the host runs, if they may go through a loop together.
    pub(super) company: Option<Rc<Company>>,
}

/// A thread of a block, in a phase.
#[derive(Debug, Clone, Copy)]
pub struct BlockThread {
    rank: usize,
    threads: usize,
    block: usize,
    blocks: usize,
}

impl BlockThread {
    /// The number of threads in the block.
    #[inline]
    pub(super) fn threads(self) -> usize {
        self.threads
    }

    /// The number of threads in the launch.
    #[inline]
    pub(super) fn all_threads(self) -> usize {
        self.blocks * self.threads
    }

    /// The thread's number in its block.
    #[inline]
    pub fn rank(self) -> usize {
        self.rank
    }

    /// The thread's index in the data, which no other thread of the launch has.
    #[inline]
    pub fn index(self) -> Index {
        Index([self.block * self.threads + self.rank])
    }

    /// The thread's share of `0..n`, if all threads of the launch share it: its [`index`](Self::index), and on
    /// in steps of as many as there are threads.
    #[inline]
    pub fn of_grid(self, n: usize) -> impl Iterator<Item = Index> {
        (self.index().get()..n).step_by(self.all_threads()).map(|at| Index([at]))
    }

    /// The thread's share of `0..n`, if the threads of its block share it.
    #[inline]
    pub fn of_block(self, n: usize) -> impl Iterator<Item = usize> {
        (self.rank..n).step_by(self.threads)
    }
}

impl Block {
    /// The block's index in the grid.
    #[inline]
    pub fn index(&self) -> BlockIndex {
        BlockIndex(self.place[2])
    }

    /// The number of blocks in the grid.
    #[inline]
    pub fn blocks(&self) -> usize {
        self.grid[2]
    }
}

// Note 63: barriers stand between phases, and no phase writes what it reads of others.
impl<const D: usize> Block<D> {
    /// The block's place in the grid along z, y and x.
    pub(super) fn place(&self) -> [usize; 3] {
        self.place
    }

    /// The blocks of the grid along z, y and x.
    pub(super) fn grid(&self) -> [usize; 3] {
        self.grid
    }

    /// The number of the block among all of the grid, along x first.
    pub(super) fn number(&self) -> usize {
        let ([z, y, x], [_, rows, columns]) = (self.place, self.grid);
        (z * rows + y) * columns + x
    }

    /// The number of threads in each block.
    #[inline]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// A phase: each thread of the block runs `phase`.
    #[inline]
    pub fn each(&self, phase: impl FnMut(BlockThread)) {
        self.all(phase);
        self.end_phase();
    }

    /// Runs all threads, without the barrier after a phase.
    #[inline]
    pub(super) fn all(&self, mut phase: impl FnMut(BlockThread)) {
        for rank in 0..self.threads {
            self.running.set(Some(rank));
            phase(self.thread(rank));
        }
    }

    /// The thread of a rank.
    #[inline]
    pub(super) fn thread(&self, rank: usize) -> BlockThread {
        let (block, blocks) = (self.number(), self.grid.iter().product());
        BlockThread { rank, threads: self.threads, block, blocks }
    }

    /// The barrier after a phase.
    #[inline]
    pub(super) fn end_phase(&self) {
        self.running.end_phase();
    }

    /// An array in the block's shared memory. Its elements are undefined until a [`fill`](Self::fill), or until
    /// an atomic's [`store`](super::SharedAtomic::store).
    #[inline]
    pub fn shared<A: SharedArray>(&self) -> Shared<A> {
        const { assert!(size_of::<A>() <= 48 << 10, "a block has 48 KiB of shared memory") };
        self.dynamic.add_on_host(size_of::<A::Held>());
        // What is read before it is written is hardly ever right.
        Shared(A::undefined())
    }

    /// An array in the block's shared memory as [`shared`](Self::shared) gives one, whose rows lie `P` elements
    /// further apart on a GPU: threads that read a column at once then do not wait for each other.
    #[inline]
    pub fn shared_padded<A: SharedArray<At = [usize; 2]>, const P: usize>(&self) -> Shared<A> {
        const { assert!(P > 0, "without padding it is `shared`") };
        self.shared()
    }

    /// A phase that writes all of a shared array, or of the block's [tile](super::Own::tile) or
    /// [row](super::Own::row): the threads share the elements, and each is what `value` gives for its place. `value`
    /// may read shared arrays, but not the one that is written. What of a tile is beyond the end of the data is
    /// not written.
    #[inline]
    pub fn fill<F: Fill>(&self, filled: &mut F, mut value: impl FnMut(F::At) -> F::Element) {
        // In the order of the places, which is that of memory. Each is some thread's.
        let mut rank = 0;
        for place in 0..filled.places() {
            self.running.set(Some(rank));
            if let Some(at) = filled.at(place) {
                filled.set(place, value(at));
            }
            rank = if rank + 1 == self.threads { 0 } else { rank + 1 };
        }
        self.end_phase();
    }

    /// The same as [`fill`](Self::fill) of a shared array, but threads beside each other write elements of one column:
    /// faster if `value` reads what lies in another order in memory.
    #[inline]
    pub fn fill_columns<A: SharedArray<At = [usize; 2]>>(
        &self,
        array: &mut Shared<A>,
        value: impl FnMut([usize; 2]) -> A::Element,
    ) {
        self.fill(array, value);
    }

    /// A phase that writes all of the block's [tile](super::Own::tile): each thread gives its own
    /// [part](super::Tile::part).
    ///
    /// # Panics
    /// If the block has not as many threads as the tile has parts.
    #[inline]
    #[track_caller]
    pub fn fill_parts<T, const R: usize, const C: usize, const P: usize, const Q: usize>(
        &self,
        tile: &mut OwnTile<'_, T, R, C>,
        mut value: impl FnMut(BlockThread) -> [[T; Q]; P],
    ) {
        Part::<R, C, P, Q>::fits(self.threads);
        self.each(|thread| {
            let part = Part::<R, C, P, Q>::of(thread);
            for (i, row) in value(thread).into_iter().enumerate() {
                for (j, element) in row.into_iter().enumerate() {
                    tile.set(part.row(i) * C + part.column(j), element);
                }
            }
        });
    }

    /// A variable of which each thread has its own, which it keeps from phase to phase: `sums[t]`.
    #[inline]
    pub fn private<T: BlockValue>(&self, start: T) -> Private<T> {
        Private(vec![start; self.threads])
    }

    /// A phase that gives one value to the whole block: those of all threads, combined two by two. Which two
    /// depends on the number of threads alone, so that sums of floats are the same on every device.
    #[inline]
    pub fn reduce<T: BlockValue>(
        &self,
        mut value: impl FnMut(BlockThread) -> T,
        combine: impl FnMut(T, T) -> T,
    ) -> T {
        let mut values = Vec::with_capacity(self.threads);
        self.all(|thread| values.push(value(thread)));
        self.combined(&values, combine)
    }

    /// The values of all threads, combined, and the barrier after the phase that gave them. Lanes combine while
    /// other warps are in the phase still, so that it comes afterwards.
    #[inline]
    pub(super) fn combined<T: BlockValue>(&self, values: &[T], mut combine: impl FnMut(T, T) -> T) -> T {
        let mut warps = Vec::with_capacity(values.len().div_ceil(WARP));
        for (warp, values) in values.chunks(WARP).enumerate() {
            self.running.set(Some(warp * WARP));
            warps.push(of_warp(values, &mut combine));
        }
        self.running.set(Some(0));
        let result = of_warp(&warps, &mut combine);
        self.end_phase();
        result
    }

    /// A phase: whether `test` holds for a thread of the block.
    #[inline]
    pub fn any(&self, test: impl FnMut(BlockThread) -> bool) -> bool {
        self.count(test) > 0
    }

    /// A phase: for how many threads of the block `test` holds.
    #[inline]
    pub fn count(&self, mut test: impl FnMut(BlockThread) -> bool) -> usize {
        let mut count = 0;
        self.each(|thread| count += usize::from(test(thread)));
        count
    }
}

impl<const D: usize> fmt::Debug for Block<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, grid, threads, .. } = self;
        f.debug_struct("Block")
            .field("place", &&place[3 - D..])
            .field("grid", &&grid[3 - D..])
            .field("threads", threads)
            .finish()
    }
}

/// The threads of a warp.
const WARP: usize = 32;

/// The first of at most 32 values, after each has been combined with the value 16, 8, 4, 2 and 1 further on.
fn of_warp<T: Copy>(values: &[T], combine: &mut impl FnMut(T, T) -> T) -> T {
    let mut values = values.to_vec();
    for by in [16, 8, 4, 2, 1] {
        for at in by..values.len() {
            values[at - by] = combine(values[at - by], values[at]);
        }
        values.truncate(by);
    }
    values[0]
}

/// A variable of which each thread of a block has its own.
pub struct Private<T>(Vec<T>);

impl<T> ops::Index<BlockThread> for Private<T> {
    type Output = T;

    #[inline]
    fn index(&self, thread: BlockThread) -> &T {
        &self.0[thread.rank]
    }
}

impl<T> ops::IndexMut<BlockThread> for Private<T> {
    #[inline]
    fn index_mut(&mut self, thread: BlockThread) -> &mut T {
        &mut self.0[thread.rank]
    }
}

impl<T> fmt::Debug for Private<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Private").finish_non_exhaustive()
    }
}

/// Calls a kernel for each block of a grid, along x first. Each thread of the host that takes part has its kernel
/// from `kernel`. If the kernel panics, the first block in which it does is the outcome: the panic goes on as a
/// [`KernelFault`](super::KernelFault). Where blocks `may_wait` for each other, they are taken in order.
#[doc(hidden)]
#[inline]
pub fn blocks<const D: usize, K: FnMut(Block<D>)>(of: Grid, may_wait: bool, kernel: impl Fn() -> K + Sync) {
    launch::in_order(blocks_of(of), may_wait, |number| run(of, number, None, &kernel));
}

/// The same for a kernel that goes through all of the data in loops, and whose blocks do not wait for each other:
/// some blocks go together.
#[doc(hidden)]
#[inline]
pub fn blocks_together<const D: usize, K: FnMut(Block<D>)>(of: Grid, kernel: impl Fn() -> K + Sync) {
    if replay::is_searching() {
        // A search goes on after a block that has failed elsewhere.
        return blocks(of, false, kernel);
    }
    let count = blocks_of(of);
    let threads = launch::threads_of_host();
    let each = Company::size(count, threads);
    let parts = Company::parts(each, threads);
    launch::in_order(count.div_ceil(each) * parts, false, |task| {
        let ops::Range { start, end } = Company::part(each, parts, task % parts);
        let first = task / parts * each;
        let range = count.min(first + start)..count.min(first + end);
        Company::run(range, &|number, company| run(of, number, Some(company), &kernel))
    });
}

/// The blocks of a grid.
fn blocks_of(of: Grid) -> usize {
    of.grid_dim.iter().map(|&blocks| blocks as usize).product()
}

/// Calls a kernel for a block of a grid.
#[inline]
fn run<const D: usize, K: FnMut(Block<D>)>(
    of: Grid,
    number: usize,
    company: Option<&Rc<Company>>,
    kernel: &impl Fn() -> K,
) -> Result<(), KernelFault> {
    let grid = [2, 1, 0].map(|axis| of.grid_dim[axis] as usize);
    let threads = of.block_dim[0] as usize;
    let place = index_of(number, grid);
    let running = Rc::new(Running::of_blocks(grid, D, threads));
    let (dynamic, company) = (Dynamic::new(of.shared), company.cloned());
    let block = Block { place, grid, threads, dynamic, running: Rc::clone(&running), company };
    fault::in_block(&place[3 - D..], &running, || kernel()(block))
}
