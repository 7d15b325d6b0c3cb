//! Phases on the host whose threads share a loop: `for i in t.of_grid(n)`.
//!
//! One after another, each thread would go through all of the data in long steps, and each cache line would
//! come as often as threads have a part of it. So the threads go round by round: first each begins, then each
//! takes its first element, then each its second, and at last each ends. A round is a loop over neighbours in
//! memory, and some rounds are done in one pass. Each thread does the same as alone, in the same order, so that
//! its result has the same bits.

use std::rc::Rc;

use super::blocks::{Block, BlockThread, BlockValue, Company};
use super::native::Index;
use super::replay;
use super::running::Running;
use super::turns::{Takes, Turn, Turns};

/// The largest variables that are handed on at each turn, in bytes: copying more would cost more than memory
/// that is read in order gives.
const LARGEST: usize = 64;

/// The rounds that are run in one pass over the variables, where they are far from each other in memory: reading
/// and writing a thread's variables takes as long as a turn.
const AT_ONCE: usize = 4;

/// How far ahead of a round its data are asked for, in bytes.
const AHEAD: usize = 4096;

/// What a processor fetches from memory, in bytes.
const LINE: usize = 64;

/// Asks the processor for what a round some rounds later reads of `data`. This round begins with the element `from`, and
/// has so many.
///
/// Its own guesses come late for a loop that also reads and writes variables between the data.
#[doc(hidden)]
#[inline(always)]
pub fn ask_ahead<T>(data: &[T], from: usize, elements: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        let bytes = elements * size_of::<T>();
        let start = data.as_ptr().wrapping_add(from).cast::<i8>().wrapping_add(AHEAD.max(bytes));
        for offset in (0..bytes).step_by(LINE) {
            // SAFETY: this is a hint, for any address, and all of these processors have the instruction.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(offset)) };
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (data, from, elements);
}

/// The threads that share the elements.
pub trait Share {
    /// What the loop gives.
    type At;
    /// The thread's first element.
    #[doc(hidden)]
    fn first(thread: BlockThread) -> usize;
    /// From one of its elements to the next.
    #[doc(hidden)]
    fn step(thread: BlockThread) -> usize;
    #[doc(hidden)]
    fn at(element: usize) -> Self::At;
}

/// All threads of the launch: [`BlockThread::of_grid`].
#[derive(Debug, Clone, Copy)]
pub struct OfGrid;

impl Share for OfGrid {
    type At = Index;

    #[inline(always)]
    fn first(thread: BlockThread) -> usize {
        thread.index().get()
    }

    #[inline(always)]
    fn step(thread: BlockThread) -> usize {
        thread.all_threads()
    }

    #[inline(always)]
    fn at(element: usize) -> Index {
        Index([element])
    }
}

/// The threads of the block: [`BlockThread::of_block`].
#[derive(Debug, Clone, Copy)]
pub struct OfBlock;

impl Share for OfBlock {
    type At = usize;

    #[inline(always)]
    fn first(thread: BlockThread) -> usize {
        thread.rank()
    }

    #[inline(always)]
    fn step(thread: BlockThread) -> usize {
        thread.threads()
    }

    #[inline(always)]
    fn at(element: usize) -> usize {
        element
    }
}

// Note 65: rounds of all threads, each in order.
impl<const D: usize> Block<D> {
    /// [`each`](Self::each), of a phase in three parts: what a thread does before its loop over a share of so
    /// many elements as it says, what it does with each of them, and what it does afterwards. The parts hand
    /// on its variables. `within` is a number up to which the elements are in the data that the loop
    /// accesses, if any is. `ahead` [asks](ask_ahead) for data of rounds to come: it is given the first element
    /// of a round and their number.
    #[doc(hidden)]
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "each is another part of the phase")]
    pub fn each_in_rounds<S: Copy, K: Share, F: FnMut(S, BlockThread, Turn<K::At>) -> S>(
        &self,
        share: K,
        takes: impl Takes<F, Turns: Turns<S, K::At>>,
        within: usize,
        ahead: impl Fn(usize, usize),
        begin: impl FnMut(BlockThread) -> (S, usize),
        turn: F,
        end: impl FnMut(S, BlockThread),
    ) {
        self.rounds(share, within, ahead, begin, takes.turns(turn), end);
        self.end_phase();
    }

    /// [`reduce`](Self::reduce), of a phase in three parts.
    #[doc(hidden)]
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "each is another part of the phase")]
    pub fn reduce_in_rounds<T: BlockValue, S: Copy, K: Share, F: FnMut(S, BlockThread, Turn<K::At>) -> S>(
        &self,
        share: K,
        takes: impl Takes<F, Turns: Turns<S, K::At>>,
        within: usize,
        ahead: impl Fn(usize, usize),
        begin: impl FnMut(BlockThread) -> (S, usize),
        turn: F,
        mut end: impl FnMut(S, BlockThread) -> T,
        combine: impl FnMut(T, T) -> T,
    ) -> T {
        let mut values = Vec::with_capacity(self.threads);
        self.rounds(share, within, ahead, begin, takes.turns(turn), |variables, thread| {
            values.push(end(variables, thread))
        });
        self.combined(&values, combine)
    }

    /// Runs all threads, without the barrier after a phase.
    #[inline]
    fn rounds<S: Copy, K: Share>(
        &self,
        _: K,
        within: usize,
        ahead: impl Fn(usize, usize),
        mut begin: impl FnMut(BlockThread) -> (S, usize),
        mut turn: impl Turns<S, K::At>,
        mut end: impl FnMut(S, BlockThread),
    ) {
        // A search looks for the first thread that fails, and not for the first element.
        if size_of::<S>() > LARGEST || replay::is_searching() {
            return self.all(|thread| {
                let (mut variables, elements) = begin(thread);
                for element in (K::first(thread)..elements).step_by(K::step(thread)) {
                    variables = turn.take(variables, thread, Turn::new(K::at(element), element, false));
                }
                end(variables, thread);
            });
        }
        let mut variables = Vec::with_capacity(self.threads);
        let mut others = Vec::new();
        self.running.set(Some(0));
        let (of_first, elements) = begin(self.thread(0));
        variables.push(of_first);
        for rank in 1..self.threads {
            self.running.set(Some(rank));
            let (of_thread, its_elements) = begin(self.thread(rank));
            variables.push(of_thread);
            if its_elements != elements {
                others.push((rank, its_elements));
            }
        }
        let first = K::first(self.thread(0));
        if !others.is_empty() {
            turn.lend(|turn| self.one_by_one::<S, K>(elements, &others, &mut variables, turn));
        } else if let Some(company) = self.company_through::<S, K>(elements) {
            let mut next = Some(first);
            turn.lend(|turn| {
                company.join(self, size_of::<S>(), &mut || {
                    if let Some(from) = next.filter(|&from| from < elements) {
                        next = self.pass_apart::<S, K>(within, &ahead, elements, from, &mut variables, turn);
                    }
                    next.is_some_and(|from| from < elements)
                });
            });
        } else {
            let mut next = Some(first);
            while let Some(from) = next.filter(|&from| from < elements) {
                next = self.pass::<S, K>(within, &ahead, elements, from, &mut variables, &mut turn);
            }
        }
        for (rank, variables) in variables.into_iter().enumerate() {
            self.running.set(Some(rank));
            end(variables, self.thread(rank));
        }
    }

    /// Those that go through a loop over so many elements together with this block, if it is long.
    fn company_through<S, K: Share>(&self, elements: usize) -> Option<&Rc<Company>> {
        let step = K::step(self.thread(0));
        let company = self.company.as_ref()?;
        (step > self.threads && elements / step >= AT_ONCE && company.is_any(self, size_of::<S>()))
            .then_some(company)
    }

    /// [`pass`](Self::pass) as a function of its own, so that compilers know that its arguments do not alias.
    #[inline(never)]
    fn pass_apart<S: Copy, K: Share>(
        &self,
        within: usize,
        ahead: &impl Fn(usize, usize),
        elements: usize,
        from: usize,
        variables: &mut [S],
        turn: &mut impl Turns<S, K::At>,
    ) -> Option<usize> {
        self.pass::<S, K>(within, ahead, elements, from, variables, turn)
    }

    /// Some rounds, of which the first begins with the element `from`. The result is where the next one begins.
    /// The threads have shares of the same elements.
    #[inline(always)]
    fn pass<S: Copy, K: Share>(
        &self,
        within: usize,
        ahead: &impl Fn(usize, usize),
        elements: usize,
        from: usize,
        variables: &mut [S],
        turn: &mut impl Turns<S, K::At>,
    ) -> Option<usize> {
        let step = K::step(self.thread(0));
        // Where a round may begin at the latest such that its threads have elements.
        let last = within.min(elements).checked_sub(variables.len());
        // Where rounds follow each other in memory, one at a time reads it in order.
        let are_far = step > variables.len();
        if are_far && last.is_some_and(|last| from.saturating_add((AT_ONCE - 1) * step) <= last) {
            let mut lanes = Lanes { rank: 0, running: &self.running };
            for variables in &mut *variables {
                let thread = self.thread(lanes.rank);
                let (mut now, mut element) = (*variables, from + lanes.rank);
                for _ in 0..AT_ONCE {
                    // SAFETY: the last of the rounds begins at `last` or before.
                    unsafe { std::hint::assert_unchecked(element < within && element < elements) };
                    now = turn.take(now, thread, Turn::new(K::at(element), element, true));
                    element = element.wrapping_add(step);
                }
                *variables = now;
                lanes.rank += 1;
            }
            drop(lanes);
            return from.checked_add(AT_ONCE * step);
        }
        let threads = variables.len().min(elements.saturating_sub(from));
        let inner = within.min(elements).saturating_sub(from).min(threads);
        if !are_far {
            ahead(from, inner);
        }
        let (inside, others) = variables[..threads].split_at_mut(inner);
        let mut lanes = Lanes { rank: 0, running: &self.running };
        for variables in inside {
            let element = from + lanes.rank;
            // SAFETY: there are at most `within - from` and `elements - from` of these threads, counted
            // from 0, and none if `from` is greater than one of the two.
            unsafe { std::hint::assert_unchecked(element < within && element < elements) };
            *variables =
                turn.take(*variables, self.thread(lanes.rank), Turn::new(K::at(element), element, true));
            lanes.rank += 1;
        }
        drop(lanes);
        if !others.is_empty() {
            turn.lend(|turn| self.rest::<S, K>(from, inner, others, turn));
        }
        from.checked_add(step)
    }

    /// The rest of a round: apart, so that the turns are compiled into one fast loop alone.
    #[inline(never)]
    fn rest<S: Copy, K: Share>(
        &self,
        from: usize,
        rank: usize,
        variables: &mut [S],
        turn: &mut impl Turns<S, K::At>,
    ) {
        let mut lanes = Lanes { rank, running: &self.running };
        for variables in variables {
            let element = from + lanes.rank;
            let turn_of = Turn::new(K::at(element), element, false);
            *variables = turn.take(*variables, self.thread(lanes.rank), turn_of);
            lanes.rank += 1;
        }
    }

    /// The turns of one thread after those of another. `others` are the ranks whose threads have shares of
    /// other numbers of elements, and these.
    #[inline(never)]
    fn one_by_one<S: Copy, K: Share>(
        &self,
        elements: usize,
        others: &[(usize, usize)],
        variables: &mut [S],
        turn: &mut impl Turns<S, K::At>,
    ) {
        let mut others = others.iter().peekable();
        for (rank, variables) in variables.iter_mut().enumerate() {
            self.running.set(Some(rank));
            let thread = self.thread(rank);
            let elements = match others.next_if(|(other, _)| *other == rank) {
                Some((_, its_elements)) => *its_elements,
                None => elements,
            };
            for element in (K::first(thread)..elements).step_by(K::step(thread)) {
                *variables = turn.take(*variables, thread, Turn::new(K::at(element), element, false));
            }
        }
    }
}

/// The threads of a round. Where it ends, also by a panic, is where the thread is noted: a note for each
/// would keep compilers from vectorising the loop.
struct Lanes<'a> {
    rank: usize,
    running: &'a Running,
}

impl Drop for Lanes<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.running.set(Some(self.rank));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use super::super::blocks::blocks;
    use super::super::replay::{Copies, again};
    use super::super::turns::{ByCopy, ByReference};
    use super::*;
    use crate::base::threads::Grid;

    const GRID: Grid = Grid { grid_dim: [1, 1, 1], block_dim: [3, 1, 1], shared: 0 };

    /// What the threads of a block do: the rank and the element, or the rank where they begin and end. The
    /// thread of rank 1 has so many elements, and the others have seven. The kernel is told to be within
    /// four.
    fn phase(of_second: usize, seen: &Mutex<Vec<(usize, Option<usize>)>>) {
        let see =
            |thread: BlockThread, element| seen.lock().expect("no panic").push((thread.rank(), element));
        blocks::<1, _>(GRID, false, || {
            let see = &see;
            move |block: Block| {
                let sum = block.reduce_in_rounds(
                    OfBlock,
                    ByReference,
                    4,
                    |_, _| (),
                    |thread| {
                        see(thread, None);
                        (0, if thread.rank() == 1 { of_second } else { 7 })
                    },
                    |sum, thread, turn| {
                        see(thread, Some(turn.at));
                        sum + turn.at
                    },
                    |sum, thread| {
                        see(thread, None);
                        sum
                    },
                    |a, b| a + b,
                );
                assert_eq!(sum, if of_second == 7 { 21 } else { 17 });
            }
        });
    }

    const ENDS: [(usize, Option<usize>); 3] = [(0, None), (1, None), (2, None)];

    #[test]
    fn threads_take_turns() {
        let seen = Mutex::new(Vec::new());
        phase(7, &seen);
        let turns = (0..7).map(|element| (element % 3, Some(element)));
        let expected: Vec<_> = ENDS.into_iter().chain(turns).chain(ENDS).collect();
        assert_eq!(seen.into_inner().expect("no panic"), expected);
    }

    #[test]
    fn threads_with_other_numbers_of_elements_take_them_one_after_another() {
        let seen = Mutex::new(Vec::new());
        phase(3, &seen);
        let turns = [0, 3, 6, 1, 2, 5].map(|element| (element % 3, Some(element)));
        let expected: Vec<_> = ENDS.into_iter().chain(turns).chain(ENDS).collect();
        assert_eq!(seen.into_inner().expect("no panic"), expected);
    }

    #[test]
    fn rounds_that_are_done_together_are_all_of_them_and_in_order() {
        const TWO_BLOCKS: Grid = Grid { grid_dim: [2, 1, 1], ..GRID };
        for elements in [0_usize, 1, 5, 6, 23, 24, 25, 27, 28, 48, 49, 59] {
            for within in [0, 4, elements.saturating_sub(7), elements, usize::MAX] {
                let seen = Mutex::new(vec![Vec::new(); 6]);
                blocks::<1, _>(TWO_BLOCKS, false, || {
                    let seen = &seen;
                    move |block: Block| {
                        block.each_in_rounds(
                            OfGrid,
                            ByCopy,
                            within,
                            |_, _| (),
                            |_| (0, elements),
                            |turns, thread, turn| {
                                let of_thread = &mut seen.lock().expect("no panic")[thread.index().get()];
                                of_thread.push(turn.at.get());
                                turns + 1
                            },
                            |turns, thread| {
                                let first = thread.index().get();
                                assert_eq!(turns, (first..elements).step_by(6).len());
                            },
                        );
                    }
                });
                for (first, found) in seen.into_inner().expect("no panic").into_iter().enumerate() {
                    assert_eq!(found, Vec::from_iter((first..elements).step_by(6)), "{elements}, {within}");
                }
            }
        }
    }

    #[test]
    fn any_elements_may_be_asked_for() {
        for from in [0, 5, usize::MAX / 8, usize::MAX] {
            ask_ahead(&[0.0_f32; 5], from, 256);
            ask_ahead::<[u8; 3]>(&[], from, 1024);
            ask_ahead(&[(); 5], from, 3);
            ask_ahead(&[1_u64], from, 0);
        }
    }

    #[test]
    fn a_search_for_a_fault_runs_the_threads_one_after_another() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (until, ours) = (Instant::now() + Duration::from_secs(20), Arc::clone(&seen));
        let launch = move |_: &Copies| Some(Box::new(move || phase(7, &ours)) as Box<dyn FnOnce() + Send>);
        again(("no file".to_owned(), 1), Copies::new(), until, launch).expect_err("nothing fails");
        let of_thread = |rank: usize| {
            let turns = (rank..7).step_by(3).map(move |element| (rank, Some(element)));
            [(rank, None)].into_iter().chain(turns).chain([(rank, None)])
        };
        let expected: Vec<_> = (0..3).flat_map(of_thread).collect();
        assert_eq!(*seen.lock().expect("no panic"), expected);
    }
}
