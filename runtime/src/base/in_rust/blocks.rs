//! Blocks of threads on the host: one thread of the host runs the threads of a block one after another, phase
//! by phase.

use std::cell::Cell;
use std::fmt;
use std::ops;
use std::rc::Rc;

use super::fault;
use super::launch;
use super::native::{BlockIndex, Index};
use crate::base::threads::Grid;

/// A block of threads that work together: the first parameter of a `#[kernel]` in phases.
///
/// What stands outside of a phase is the same for all threads of the block. A phase is a closure that each
/// thread of the block runs, such as that of [`each`](Self::each). No thread begins the next phase before all
/// have ended this one.
pub struct Block {
    index: usize,
    blocks: usize,
    threads: usize,
    /// The thread that runs, for the message if it fails.
    running: Rc<Cell<Option<usize>>>,
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
        (self.index().get()..n).step_by(self.blocks * self.threads).map(|at| Index([at]))
    }

    /// The thread's share of `0..n`, if the threads of its block share it.
    #[inline]
    pub fn of_block(self, n: usize) -> impl Iterator<Item = usize> {
        (self.rank..n).step_by(self.threads)
    }
}

// Note 63: barriers stand between phases, and no phase writes what it reads of others.
impl Block {
    /// The block's index in the grid.
    #[inline]
    pub fn index(&self) -> BlockIndex {
        BlockIndex(self.index)
    }

    /// The number of blocks in the grid.
    #[inline]
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The number of threads in each block.
    #[inline]
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// A phase: each thread of the block runs `phase`.
    #[inline]
    pub fn each(&self, mut phase: impl FnMut(BlockThread)) {
        let &Self { index, blocks, threads, .. } = self;
        for rank in 0..threads {
            self.running.set(Some(rank));
            phase(BlockThread { rank, threads, block: index, blocks });
        }
        self.running.set(None);
    }

    /// An array in the block's shared memory. Its elements are undefined until a [`fill`](Self::fill), or until
    /// an atomic's [`store`](super::SharedAtomic::store).
    #[inline]
    pub fn shared<A: SharedArray>(&self) -> Shared<A> {
        const { assert!(size_of::<A>() <= 48 << 10, "a block has 48 KiB of shared memory") };
        // What is read before it is written is hardly ever right.
        Shared(A::undefined())
    }

    /// A phase that writes all of a shared array: the threads share the elements, and each is what `value`
    /// gives for its place. `value` may read other shared arrays, but not this one.
    #[inline]
    pub fn fill<A: SharedArray>(&self, array: &mut Shared<A>, mut value: impl FnMut(A::At) -> A::Element) {
        self.each(|thread| {
            for place in thread.of_block(A::LENGTH) {
                A::set(&mut array.0, place, value(A::at(place)));
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
        mut combine: impl FnMut(T, T) -> T,
    ) -> T {
        let mut values = Vec::with_capacity(self.threads);
        self.each(|thread| values.push(value(thread)));
        let mut warps = Vec::with_capacity(values.len().div_ceil(WARP));
        for (warp, values) in values.chunks(WARP).enumerate() {
            self.running.set(Some(warp * WARP));
            warps.push(of_warp(values, &mut combine));
        }
        self.running.set(Some(0));
        let result = of_warp(&warps, &mut combine);
        self.running.set(None);
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

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, blocks, threads, .. } = self;
        f.debug_struct("Block")
            .field("index", index)
            .field("blocks", blocks)
            .field("threads", threads)
            .finish()
    }
}

/// The threads of a warp.
const WARP: usize = 32;

/// The byte that shared memory is made of until it is filled: NaN in floats, and no likely integer.
pub(super) const UNDEFINED: u8 = 0xff;

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

/// An array in the shared memory of a block. All threads read it, and [`Block::fill`] writes it. One of atomics is
/// changed by all of them.
pub struct Shared<A: SharedArray>(Box<A::Held>);

impl<A: SharedArray> ops::Deref for Shared<A> {
    type Target = A::Held;

    #[inline]
    fn deref(&self) -> &A::Held {
        &self.0
    }
}

impl<A: SharedArray> fmt::Debug for Shared<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
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

pub(super) mod sealed {
    /// What an array in shared memory is made of.
    pub trait Element {
        /// The number.
        type Number;
        /// What stands for the element on the host.
        type Held;
        const UNDEFINED: Self::Held;
        fn set(held: &mut Self::Held, value: Self::Number);
    }
    pub trait Value {}
}

/// A value that the threads of a block may have from each other: a number, a `bool`, tuples and arrays of these.
///
/// No other is one: a thread's index would give a thread the element of another, and a reference may be to a
/// thread's own memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value that a block's threads may have from each other",
    label = "expected a number, a `bool`, or a tuple or array of these"
)]
pub trait BlockValue: Copy + sealed::Value {}

macro_rules! numbers {
    ($($number:ty)*) => { $(
        impl sealed::Element for $number {
            type Number = Self;
            type Held = Self;
            const UNDEFINED: Self = Self::from_ne_bytes([UNDEFINED; size_of::<Self>()]);

            #[inline]
            fn set(held: &mut Self, value: Self) {
                *held = value;
            }
        }
        impl sealed::Value for $number {}
        impl BlockValue for $number {}
    )* };
}
numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);

impl sealed::Value for bool {}
impl BlockValue for bool {}
impl<T: BlockValue, const N: usize> sealed::Value for [T; N] {}
impl<T: BlockValue, const N: usize> BlockValue for [T; N] {}

macro_rules! tuples {
    ($(($($part:ident)*))*) => { $(
        impl<$($part: BlockValue),*> sealed::Value for ($($part,)*) {}
        impl<$($part: BlockValue),*> BlockValue for ($($part,)*) {}
    )* };
}
tuples!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F));

/// An array that shared memory can hold: of numbers or atomics, or of arrays of them.
pub trait SharedArray {
    /// The place of an element: a number, or a row and a column.
    type At;
    /// A number.
    type Element;
    /// What the threads read: the array itself, or one of [`SharedAtomic`](super::SharedAtomic).
    type Held;
    /// The number of elements.
    #[doc(hidden)]
    const LENGTH: usize;
    /// The place of an element, along the last axis first.
    #[doc(hidden)]
    fn at(place: usize) -> Self::At;
    #[doc(hidden)]
    fn undefined() -> Box<Self::Held>;
    #[doc(hidden)]
    fn set(held: &mut Self::Held, place: usize, value: Self::Element);
}

impl<T: sealed::Element, const N: usize> SharedArray for [T; N] {
    type At = usize;
    type Element = T::Number;
    type Held = [T::Held; N];
    const LENGTH: usize = N;

    #[inline]
    fn at(place: usize) -> usize {
        place
    }

    #[inline]
    fn undefined() -> Box<Self::Held> {
        Box::new([const { T::UNDEFINED }; N])
    }

    #[inline]
    fn set(held: &mut Self::Held, place: usize, value: T::Number) {
        T::set(&mut held[place], value);
    }
}

impl<T: sealed::Element, const R: usize, const C: usize> SharedArray for [[T; C]; R] {
    type At = [usize; 2];
    type Element = T::Number;
    type Held = [[T::Held; C]; R];
    const LENGTH: usize = R * C;

    #[inline]
    fn at(place: usize) -> [usize; 2] {
        [place / C, place % C]
    }

    #[inline]
    fn undefined() -> Box<Self::Held> {
        Box::new([const { [const { T::UNDEFINED }; C] }; R])
    }

    #[inline]
    fn set(held: &mut Self::Held, place: usize, value: T::Number) {
        T::set(&mut held[place / C][place % C], value);
    }
}

/// Calls a kernel for each block of a grid in one dimension. Each thread of the host that takes part has its
/// kernel from `kernel`. If the kernel panics, the first block in which it does is the outcome: the panic goes
/// on as a [`KernelFault`].
#[doc(hidden)]
#[inline]
pub fn blocks<K: FnMut(Block)>(grid: Grid, kernel: impl Fn() -> K + Sync) {
    let (blocks, threads) = (grid.grid_dim[0] as usize, grid.block_dim[0] as usize);
    launch::in_order(blocks, |index| {
        let mut kernel = kernel();
        fault::in_block(index, |running| kernel(Block { index, blocks, threads, running }))
    });
}
