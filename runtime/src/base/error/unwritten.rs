//! [`Unwritten`]: elements that a kernel promised to write and did not.

use std::fmt;

use super::Detail;
use crate::base::threads::Grid;

/// A promise that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unwritten {
    pub(crate) parameter: &'static str,
    pub(crate) elements: usize,
    pub(crate) unwritten: usize,
    pub(crate) first: usize,
    pub(crate) grid: Grid,
    /// Whether each thread of the kernel has elements of its own, as in Rust.
    pub(crate) by_threads: bool,
}

impl Unwritten {
    /// The error of a launch of this kernel.
    pub(crate) fn by(&self, kernel: &'static str) -> Detail {
        let &Self {
            parameter,
            elements,
            unwritten,
            first,
            grid: Grid { grid_dim: grid, block_dim: block, .. },
            by_threads,
        } = self;
        Detail::Unwritten {
            kernel,
            parameter,
            elements,
            unwritten,
            first,
            grid,
            block,
            enough: self.enough(),
            by_threads,
        }
    }

    /// The number of blocks along x that would suffice, if each block seems to have written its part and
    /// there were too few.
    pub(crate) fn enough(&self) -> Option<u32> {
        let Self { elements, unwritten, first, grid: Grid { grid_dim, block_dim, .. }, .. } = *self;
        let [blocks, 1, 1] = grid_dim else { return None };
        let threads = block_dim.iter().map(|&threads| threads as usize).product::<usize>();
        if first + unwritten != elements || first == 0 || first % blocks as usize != 0 {
            return None;
        }
        // Each block has written one element, or the same number for each of its threads.
        let each = first / blocks as usize;
        let is_likely = each == 1 || each.is_multiple_of(threads);
        is_likely.then(|| u32::try_from(elements.div_ceil(each)).ok()).flatten()
    }
}

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parameter, elements, unwritten, first, .. } = self;
        write!(
            f,
            "{unwritten} of {elements} elements of `{parameter}` were not written, the first is {first}"
        )
    }
}
