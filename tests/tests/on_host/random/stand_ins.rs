// What stands for Thalweg's types in random kernels, written anew and in the plainest way: the threads run one
// after another, and a block's between one phase and the next.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::{Deref, Index as At, IndexMut};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

pub use half::{bf16, f16};
pub use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
pub use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};

#[derive(Clone, Copy)]
pub struct Index<const D: usize = 1>([usize; D]);
impl Index<1> { pub fn get(self) -> usize { self.0[0] } }
impl Index<2> { pub fn get(self) -> [usize; 2] { self.0 } }
impl Index<3> { pub fn get(self) -> [usize; 3] { self.0 } }
impl<T> At<Index<1>> for [T] {
    type Output = T;
    #[track_caller]
    fn index(&self, index: Index<1>) -> &T { &self[index.0[0]] }
}

#[derive(Clone, Copy)]
pub struct BlockIndex(usize);
impl BlockIndex { pub fn get(self) -> usize { self.0 } }

pub struct Own<'a, T: ?Sized>(*mut u8, [usize; 3], PhantomData<&'a mut T>);
pub type Out<'a, T> = Own<'a, T>;
impl<'a, T> Own<'a, [T]> {
    pub fn get_mut<const D: usize>(&mut self, index: Index<D>) -> Option<&mut T> {
        let mut place = 0;
        for (at, length) in index.0.into_iter().zip(&self.1[3 - D..]) {
            if at >= *length { return None }
            place = place * length + at;
        }
        Some(unsafe { &mut *self.0.cast::<T>().add(place) })
    }
    pub fn len(&self) -> usize { self.1.iter().product() }
    #[track_caller]
    pub fn put(&mut self, at: BlockIndex, value: T) {
        assert!(at.0 < self.len());
        *self.get_mut(Index([at.0])).unwrap() = value;
    }
    fn part(&mut self, [item, top, left]: [usize; 3], [rows, columns]: [usize; 2]) -> Piece<'_, T> {
        Piece { data: self.0.cast(), shape: self.1, at: [item, top, left], size: [rows, columns], of: PhantomData }
    }
    pub fn tile<const R: usize, const C: usize>(&mut self, at: Tile<R, C>) -> TilePart<'_, T> {
        TilePart(self.part(at.0, [R, C]))
    }
    pub fn row(&mut self, at: Row) -> RowPart<'_, T> {
        let [_, rows, columns] = self.1;
        RowPart(self.part([at.0 / rows, at.0 % rows, 0], [1, columns]))
    }
}

#[derive(Clone, Copy)]
pub struct Tile<const R: usize, const C: usize>([usize; 3]);
impl<const R: usize, const C: usize> Tile<R, C> {
    pub fn item(self) -> usize { self.0[0] }
    pub fn top(self) -> usize { self.0[1] }
    pub fn left(self) -> usize { self.0[2] }
    pub fn part<const P: usize, const Q: usize>(self, thread: BlockThread) -> Part<P, Q> {
        Part::of([R, C], thread)
    }
}

/// The rows and columns of a thread's part.
pub struct Part<const P: usize, const Q: usize>([usize; P], [usize; Q]);
impl<const P: usize, const Q: usize> Part<P, Q> {
    fn of([rows, columns]: [usize; 2], thread: BlockThread) -> Self {
        let across = columns / Q;
        assert!(thread.threads == rows / P * across);
        Self(dealt(rows / P, thread.rank / across), dealt(across, thread.rank % across))
    }
    pub fn row(&self, i: usize) -> usize { self.0[i] }
    pub fn column(&self, j: usize) -> usize { self.1[j] }
}

/// Places are dealt to threads four at a time if each gets a multiple of four, and else one by one.
fn dealt<const N: usize>(threads: usize, to: usize) -> [usize; N] {
    let at_once = if N % 4 == 0 { 4 } else { 1 };
    let mut all = (0..N * threads).filter(|place| place / at_once % threads == to);
    std::array::from_fn(|_| all.next().unwrap())
}

#[derive(Clone, Copy)]
pub struct Row(usize);
impl Row { pub fn get(self) -> usize { self.0 } }

pub struct Piece<'a, T> { data: *mut T, shape: [usize; 3], at: [usize; 3], size: [usize; 2], of: PhantomData<&'a mut T> }
impl<T> Piece<'_, T> {
    fn place(&self, r: usize, c: usize) -> Option<usize> {
        let ([items, rows, columns], [item, top, left]) = (self.shape, self.at);
        let is_within = item < items && top + r < rows && left + c < columns;
        is_within.then(|| (item * rows + top + r) * columns + left + c)
    }
    fn set(&mut self, r: usize, c: usize, value: T) {
        if let Some(place) = self.place(r, c) { unsafe { self.data.add(place).write(value) } }
    }
}
pub struct TilePart<'a, T>(Piece<'a, T>);
pub struct RowPart<'a, T>(Piece<'a, T>);

/// What `fill` writes.
pub trait Fill {
    type At;
    type Element;
    fn places(&self) -> usize;
    fn at(&self, place: usize) -> Option<Self::At>;
    fn set(&mut self, place: usize, value: Self::Element);
}
impl<T> Fill for TilePart<'_, T> {
    type At = [usize; 2];
    type Element = T;
    fn places(&self) -> usize { self.0.size[0] * self.0.size[1] }
    fn at(&self, place: usize) -> Option<[usize; 2]> {
        let (r, c) = (place / self.0.size[1], place % self.0.size[1]);
        self.0.place(r, c).map(|_| [r, c])
    }
    fn set(&mut self, place: usize, value: T) { self.0.set(place / self.0.size[1], place % self.0.size[1], value) }
}
impl<T> Fill for RowPart<'_, T> {
    type At = usize;
    type Element = T;
    fn places(&self) -> usize { self.0.size[1] }
    fn at(&self, place: usize) -> Option<usize> { self.0.place(0, place).map(|_| place) }
    fn set(&mut self, place: usize, value: T) { self.0.set(0, place, value) }
}

/// Numbers and structs.
pub trait Leaf: Copy {}
macro_rules! leaves { ($($leaf:ty)*) => { $(impl Leaf for $leaf {})* } }
leaves!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f16 bf16 f32 f64);

/// What shared arrays are made of.
pub trait Element {
    type Number;
    fn unwritten() -> Self;
    fn of(value: Self::Number) -> Self;
}
impl<T: Leaf> Element for T {
    type Number = T;
    fn unwritten() -> T { unsafe { std::mem::zeroed() } }
    fn of(value: T) -> T { value }
}
macro_rules! atomics {
    ($($atomic:ident: $number:ident)*) => { $(
        impl Element for $atomic {
            type Number = $number;
            fn unwritten() -> Self { Self::new(77 as $number) }
            fn of(value: $number) -> Self { Self::new(value) }
        }
    )* };
}
atomics!(AtomicU32: u32 AtomicI32: i32 AtomicU64: u64 AtomicI64: i64);

macro_rules! float_atomics {
    ($($atomic:ident: $number:ident)*) => { $(
        #[repr(transparent)]
        pub struct $atomic(Cell<$number>);
        impl $atomic {
            pub fn new(value: $number) -> Self { Self(Cell::new(value)) }
            pub fn load(&self, _: Ordering) -> $number { self.0.get() }
            pub fn store(&self, value: $number, _: Ordering) { self.0.set(value) }
            pub fn swap(&self, value: $number, _: Ordering) -> $number { self.0.replace(value) }
            pub fn fetch_add(&self, by: $number, _: Ordering) -> $number { self.0.replace(self.0.get() + by) }
            pub fn fetch_sub(&self, by: $number, _: Ordering) -> $number { self.0.replace(self.0.get() - by) }
        }
    )* };
}
float_atomics!(AtomicF32: f32 AtomicF64: f64);
atomics!(AtomicF32: f32 AtomicF64: f64);

/// `[T; N]` and `[[T; C]; R]`
pub trait Array {
    type At;
    type Element;
    const LENGTH: usize;
    fn unwritten() -> Self;
    fn at(place: usize) -> Self::At;
    fn set(&mut self, place: usize, value: Self::Element);
}
impl<T: Element, const N: usize> Array for [T; N] {
    type At = usize;
    type Element = T::Number;
    const LENGTH: usize = N;
    fn unwritten() -> Self { std::array::from_fn(|_| T::unwritten()) }
    fn at(place: usize) -> usize { place }
    fn set(&mut self, place: usize, value: T::Number) { self[place] = T::of(value) }
}
impl<T: Element, const R: usize, const C: usize> Array for [[T; C]; R] {
    type At = [usize; 2];
    type Element = T::Number;
    const LENGTH: usize = R * C;
    fn unwritten() -> Self { std::array::from_fn(|_| std::array::from_fn(|_| T::unwritten())) }
    fn at(place: usize) -> [usize; 2] { [place / C, place % C] }
    fn set(&mut self, place: usize, value: T::Number) { self[place / C][place % C] = T::of(value) }
}

/// Arrays of which nothing is read before it was filled.
pub struct Shared<A>(Box<A>);
impl<A> Deref for Shared<A> {
    type Target = A;
    fn deref(&self) -> &A { &self.0 }
}
impl<A: Array> Fill for Shared<A> {
    type At = A::At;
    type Element = A::Element;
    fn places(&self) -> usize { A::LENGTH }
    fn at(&self, place: usize) -> Option<A::At> { Some(A::at(place)) }
    fn set(&mut self, place: usize, value: A::Element) { self.0.set(place, value) }
}

pub struct Private<T>(Vec<T>);
impl<T> At<BlockThread> for Private<T> {
    type Output = T;
    fn index(&self, thread: BlockThread) -> &T { &self.0[thread.rank] }
}
impl<T> IndexMut<BlockThread> for Private<T> {
    fn index_mut(&mut self, thread: BlockThread) -> &mut T { &mut self.0[thread.rank] }
}

#[derive(Clone, Copy)]
pub struct BlockThread { rank: usize, threads: usize, block: usize, blocks: usize }
impl BlockThread {
    pub fn rank(self) -> usize { self.rank }
    pub fn index(self) -> Index { Index([self.block * self.threads + self.rank]) }
    pub fn of_grid(self, n: usize) -> impl Iterator<Item = Index> {
        (0..n).filter(move |at| at % (self.blocks * self.threads) == self.index().get()).map(|at| Index([at]))
    }
    pub fn of_block(self, n: usize) -> impl Iterator<Item = usize> {
        (0..n).filter(move |at| at % self.threads == self.rank)
    }
}

pub struct Block<const D: usize = 1> { place: [usize; 3], grid: [usize; 3], threads: usize }
impl Block<1> {
    pub fn index(&self) -> BlockIndex { BlockIndex(self.number()) }
    pub fn blocks(&self) -> usize { self.grid[2] }
}
impl<const D: usize> Block<D> {
    fn number(&self) -> usize { (self.place[0] * self.grid[1] + self.place[1]) * self.grid[2] + self.place[2] }
    pub fn threads(&self) -> usize { self.threads }
    pub fn shape<T>(&self, of: &Own<'_, [T]>) -> [usize; D] { std::array::from_fn(|axis| of.1[3 - D + axis]) }
    pub fn each(&self, mut phase: impl FnMut(BlockThread)) {
        let (block, blocks, threads) = (self.number(), self.grid.iter().product(), self.threads);
        for rank in 0..threads {
            RANK.set(Some(rank));
            phase(BlockThread { rank, threads, block, blocks });
        }
        RANK.set(None);
    }
    pub fn any(&self, test: impl FnMut(BlockThread) -> bool) -> bool { self.count(test) > 0 }
    pub fn count(&self, mut test: impl FnMut(BlockThread) -> bool) -> usize {
        let mut count = 0;
        self.each(|thread| if test(thread) { count += 1 });
        count
    }
    pub fn private<T: Copy>(&self, start: T) -> Private<T> { Private(vec![start; self.threads]) }
    pub fn shared<A: Array>(&self) -> Shared<A> { Shared(Box::new(A::unwritten())) }
    pub fn shared_padded<A: Array, const P: usize>(&self) -> Shared<A> { self.shared() }
    pub fn fill<F: Fill>(&self, filled: &mut F, mut value: impl FnMut(F::At) -> F::Element) {
        self.each(|thread| {
            for place in thread.of_block(filled.places()) {
                if let Some(at) = filled.at(place) { filled.set(place, value(at)) }
            }
        });
    }
    pub fn fill_columns<F: Fill>(&self, filled: &mut F, value: impl FnMut(F::At) -> F::Element) {
        self.fill(filled, value)
    }
    pub fn fill_parts<T: Copy, const P: usize, const Q: usize>(
        &self, tile: &mut TilePart<'_, T>, mut value: impl FnMut(BlockThread) -> [[T; Q]; P],
    ) {
        self.each(|thread| {
            let part = Part::<P, Q>::of(tile.0.size, thread);
            let values = value(thread);
            for i in 0..P { for j in 0..Q { tile.0.set(part.row(i), part.column(j), values[i][j]) } }
        });
    }
    /// Of each warp, and then of the warps: values 16, 8, 4, 2 and 1 further on are combined.
    pub fn reduce<T: Copy>(&self, mut value: impl FnMut(BlockThread) -> T, mut combine: impl FnMut(T, T) -> T) -> T {
        let mut values = Vec::new();
        self.each(|thread| values.push(value(thread)));
        let mut first_of_32 = |values: &[T]| {
            let mut lanes: Vec<Option<T>> = values.iter().copied().map(Some).collect();
            lanes.resize(32, None);
            for by in [16, 8, 4, 2, 1] {
                for lane in 0..by {
                    if let (Some(a), Some(b)) = (lanes[lane], lanes[lane + by]) { lanes[lane] = Some(combine(a, b)) }
                }
            }
            lanes[0].unwrap()
        };
        RANK.set(Some(ANY));
        let warps: Vec<T> = values.chunks(32).map(&mut first_of_32).collect();
        let result = first_of_32(&warps);
        RANK.set(None);
        result
    }
    pub fn tiles<const R: usize, const C: usize>(&self, of: &dyn Axes) -> impl Iterator<Item = Tile<R, C>> + use<R, C, D> {
        let [items, rows, columns] = of.axes();
        let (place, grid) = (self.place, self.grid);
        let own = move |axis: usize, count: usize| (0..count).filter(move |at| at % grid[axis] == place[axis]);
        own(0, items).flat_map(move |item| {
            own(1, rows.div_ceil(R)).flat_map(move |row| {
                own(2, columns.div_ceil(C)).map(move |column| Tile([item, row * R, column * C]))
            })
        })
    }
    pub fn rows(&self, of: &dyn Axes) -> impl Iterator<Item = Row> + use<D> {
        let (number, blocks) = (self.number(), self.grid.iter().product::<usize>());
        let of = of.axes();
        (0..of[0] * of[1]).filter(move |at| at % blocks == number).map(Row)
    }
}
pub trait Axes { fn axes(&self) -> [usize; 3]; }
impl<T> Axes for Own<'_, [T]> { fn axes(&self) -> [usize; 3] { self.1 } }

/// The thread that runs, in a phase; `ANY` if it may be several.
const ANY: usize = usize::MAX - 1;
thread_local! {
    static RANK: Cell<Option<usize>> = const { Cell::new(None) };
    static PANIC: Cell<[u32; 2]> = const { Cell::new([0; 2]) };
}

#[unsafe(no_mangle)]
pub extern "C" fn prepare() {
    set_hook(Box::new(|info| {
        let line = info.location().map_or(u32::MAX, |at| if at.file() == file!() { at.line() } else { u32::MAX });
        PANIC.set([line, RANK.get().map_or(0, |rank| rank as u32 + 1)]);
    }));
}

/// The line of a panic, `u32::MAX` if it is elsewhere, 0 without one; and 1 more than the thread in its block, 0
/// if it is all of them.
fn guarded(kernel: impl FnOnce()) -> [u32; 2] {
    RANK.set(None);
    match catch_unwind(AssertUnwindSafe(kernel)) { Ok(()) => [0; 2], Err(_) => PANIC.get() }
}

fn threads<const D: usize>(of: [usize; 3], mut kernel: impl FnMut(usize, Index<D>)) {
    let mut number = 0;
    for z in 0..of[0] { for y in 0..of[1] { for x in 0..of[2] {
        kernel(number, Index(std::array::from_fn(|axis| [z, y, x][3 - D + axis])));
        number += 1;
    } } }
}

fn blocks<const D: usize>(grid: [usize; 3], threads: usize, mut kernel: impl FnMut(usize, Block<D>)) {
    let mut number = 0;
    for z in 0..grid[0] { for y in 0..grid[1] { for x in 0..grid[2] {
        kernel(number, Block { place: [z, y, x], grid, threads });
        number += 1;
    } } }
}
