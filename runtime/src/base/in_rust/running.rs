//! [`Running`]: which thread of a kernel runs on the host, and what came before it.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::ptr;

use super::fault::shown;

/// The thread that runs, for the messages of its faults, and the phases that have ended, for accesses that are
/// [watched](super::race).
#[derive(Debug)]
pub struct Running {
    threads: Threads,
    /// The rank in its block, or the number among all indices along x first; `None` outside of phases.
    thread: Cell<Option<usize>>,
    /// The number of the phase, of those of all blocks that have begun.
    phase: Cell<u64>,
    /// The first phase of each block that has begun.
    blocks: RefCell<Vec<u64>>,
    /// The lines that have accessed what is watched.
    lines: RefCell<Vec<&'static Location<'static>>>,
}

/// How the threads of a launch are numbered.
#[derive(Debug)]
enum Threads {
    /// Along the axes of an index, the one that varies fastest last. All threads are in one phase.
    Indices { axes: [usize; 3], dimensions: usize },
    /// In blocks of so many, which are numbered along the axes of a grid.
    Blocks { grid: [usize; 3], dimensions: usize, threads: usize },
}

/// A thread in one of its phases: a number that no other has in the launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn(pub(super) u64);

/// What runs now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) turn: Turn,
    /// The first turns of the phase, and of the block.
    phase: Turn,
    block: Turn,
}

impl Now {
    /// Whether nothing orders an earlier turn before this one: that of another thread in this phase, or of
    /// another block.
    pub(super) fn is_beside(&self, earlier: Turn) -> bool {
        earlier != self.turn && (earlier >= self.phase || earlier < self.block)
    }

    /// Whether the turn was in another block.
    pub(super) fn is_of_another_block(&self, earlier: Turn) -> bool {
        earlier < self.block
    }
}

impl Running {
    fn new(threads: Threads) -> Self {
        Self {
            threads,
            thread: Cell::new(None),
            phase: Cell::new(0),
            blocks: RefCell::new(Vec::new()),
            lines: RefCell::new(Vec::new()),
        }
    }

    /// The kernel has threads with indices along so many of the axes.
    pub(super) fn of_indices(axes: [usize; 3], dimensions: usize) -> Self {
        Self::new(Threads::Indices { axes, dimensions })
    }

    /// The kernel is in blocks of so many threads, in a grid with so many of the axes.
    pub(super) fn of_blocks(grid: [usize; 3], dimensions: usize, threads: usize) -> Self {
        Self::new(Threads::Blocks { grid, dimensions, threads })
    }

    /// The thread that runs.
    pub(super) fn get(&self) -> Option<usize> {
        self.thread.get()
    }

    /// A thread begins, or, by `None`, what all threads of the block do together.
    #[inline]
    pub(super) fn set(&self, thread: Option<usize>) {
        self.thread.set(thread);
    }

    /// All threads of the block have come to the barrier after a phase.
    #[inline]
    pub(super) fn end_phase(&self) {
        self.set(None);
        self.phase.set(self.phase.get() + 1);
    }

    /// The next block begins, which nothing orders after the one before.
    pub(super) fn begin_block(&self) {
        self.end_phase();
        self.blocks.borrow_mut().push(self.phase.get());
    }

    /// How many turns a phase has: one for each thread.
    fn turns(&self) -> u64 {
        match &self.threads {
            Threads::Indices { axes, .. } => axes.iter().product::<usize>() as u64,
            Threads::Blocks { threads, .. } => *threads as u64,
        }
    }

    /// What runs; `None` outside of phases, where nothing is accessed that other threads access, too.
    pub(super) fn now(&self) -> Option<Now> {
        let thread = self.thread.get()? as u64;
        let turns = self.turns();
        // 0 is no turn.
        let first_of = |phase: u64| 1 + phase * turns;
        let phase = first_of(self.phase.get());
        let block = first_of(self.blocks.borrow().last().copied().unwrap_or(0));
        Some(Now { turn: Turn(phase + thread), phase: Turn(phase), block: Turn(block) })
    }

    /// The thread of a turn, as messages name it.
    pub(super) fn named(&self, turn: Turn) -> String {
        let (phase, within) = ((turn.0 - 1) / self.turns(), (turn.0 - 1) % self.turns());
        match self.threads {
            Threads::Indices { axes, dimensions } => {
                let index = index_of(within as usize, axes);
                format!("the thread of index {}", shown(&index[3 - dimensions..]))
            }
            Threads::Blocks { grid, dimensions, .. } => {
                let block = self.blocks.borrow().partition_point(|&first| first <= phase).saturating_sub(1);
                format!("thread {within} of block {}", shown(&index_of(block, grid)[3 - dimensions..]))
            }
        }
    }

    /// Whether the threads are in blocks.
    pub(super) fn is_in_blocks(&self) -> bool {
        matches!(self.threads, Threads::Blocks { .. })
    }

    /// The number of a line, which stands for it in 16 bits. A launch with more lines than those count gives
    /// the last number to several.
    pub(super) fn line(&self, line: &'static Location<'static>) -> u16 {
        let mut lines = self.lines.borrow_mut();
        let known = lines.iter().position(|known| ptr::eq(*known, line));
        let number = known.unwrap_or_else(|| {
            if lines.len() < usize::from(u16::MAX) {
                lines.push(line);
            }
            lines.len() - 1
        });
        number as u16
    }

    /// The line of a number.
    pub(super) fn line_of(&self, number: u16) -> Option<&'static Location<'static>> {
        self.lines.borrow().get(usize::from(number)).copied()
    }
}

/// The index of a thread that is numbered along x first.
pub(super) fn index_of(number: usize, [_, y, x]: [usize; 3]) -> [usize; 3] {
    [number / x / y, number / x % y, number % x]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_order_the_threads_of_a_block_and_nothing_orders_blocks() {
        let running = Running::of_blocks([1, 1, 2], 1, 4);
        let turn_of = |thread| {
            running.set(Some(thread));
            running.now().expect("in a phase")
        };
        running.begin_block();
        let first = turn_of(3).turn;
        assert!(!turn_of(3).is_beside(first) && turn_of(0).is_beside(first));
        running.end_phase();
        assert!(running.now().is_none());
        assert!(!turn_of(0).is_beside(first) && !turn_of(3).is_beside(first));
        let second = turn_of(2).turn;
        running.begin_block();
        assert!(turn_of(2).is_beside(second) && turn_of(2).is_of_another_block(second));
        assert_eq!(running.named(first), "thread 3 of block 0");
        assert_eq!(running.named(second), "thread 2 of block 0");
        assert_eq!(running.named(turn_of(1).turn), "thread 1 of block 1");
    }

    #[test]
    fn an_index_has_its_axes() {
        let running = Running::of_indices([1, 3, 5], 2);
        running.set(Some(13));
        let turn = running.now().expect("a thread runs").turn;
        assert_eq!(running.named(turn), "the thread of index [2, 3]");
        let one = Running::of_indices([1, 1, 5], 1);
        one.set(Some(4));
        assert_eq!(one.named(one.now().expect("a thread runs").turn), "the thread of index 4");
    }
}
