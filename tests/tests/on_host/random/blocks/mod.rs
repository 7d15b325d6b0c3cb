//! Kernels in blocks: shared arrays, variables of each thread, and phases.

mod kernel;
mod parts;
mod phases;

use super::types::{Number, Ty};

pub use kernel::kernel;

/// An array in shared memory, which is filled where it is declared.
#[derive(Debug, Clone)]
pub struct SharedArray {
    pub name: String,
    pub of: Ty,
    /// The rows, if it has two axes.
    pub rows: Option<usize>,
    pub columns: usize,
    pub is_padded: bool,
    /// It has atomics of this number.
    pub atomic: Option<Number>,
}

/// Whose elements of an `Own` or `Out` a kernel writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Thread,
    Block,
    Tiles,
    Rows,
}

/// An `Own` or `Out` of a kernel in blocks.
#[derive(Debug, Clone)]
pub struct Handle {
    pub name: String,
    pub ty: Ty,
    pub owner: Owner,
    /// It is an `Out`: an element is written before anything else.
    pub out: bool,
}

/// The tiles of a kernel, as it writes their sizes, and the parts of them that threads have.
#[derive(Debug, Clone)]
pub struct TileSizes {
    pub rows: usize,
    pub columns: usize,
    pub written: String,
    pub parts: Option<[usize; 2]>,
}
