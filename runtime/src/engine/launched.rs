//! [`Launched`]: the launches of a run that the host can run again, to find a thread that has failed.

use std::collections::VecDeque;
use std::fmt;

use crate::base::threads::Grid;
use crate::driver::{Access, Bodies, Tag};

/// The launches that are kept at most, the last of a run.
const KEPT: usize = 1024;

/// The last launches of a run.
#[derive(Default)]
pub(crate) struct Launched {
    pub(crate) kept: VecDeque<Kept>,
    /// Whether there were more.
    pub(crate) is_cut: bool,
}

/// A launch with its arguments.
pub(crate) struct Kept {
    /// Index into the plan's operations.
    pub(crate) operation: usize,
    pub(crate) chunk: u64,
    /// The chunk's number among those of the device.
    pub(crate) turn: u64,
    pub(crate) grid: Grid,
    pub(crate) accesses: Box<[Access]>,
    pub(crate) bodies: Box<dyn Bodies>,
}

impl Launched {
    /// Keeps a launch that is about to be enqueued.
    pub(crate) fn keep(
        &mut self,
        tag: Tag,
        turn: usize,
        grid: Grid,
        (accesses, bodies): (&[Access], &dyn Bodies),
    ) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
            self.is_cut = true;
        }
        let (operation, chunk) = (tag.operation as usize, tag.chunk);
        self.kept.push_back(Kept {
            operation,
            chunk,
            turn: turn as u64,
            grid,
            accesses: accesses.into(),
            bodies: bodies.kept(),
        });
    }
}

impl fmt::Debug for Launched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launched").field("kept", &self.kept.len()).finish_non_exhaustive()
    }
}
