//! What is known of the place in a function that is lowered: its threads, its names, and the loops around it.

use syn::ext::IdentExt;
use syn::{Ident, Path};

use crate::rust_kernels::hygiene::origin;
use crate::rust_kernels::ir::{LocalId, LoopId};
use crate::rust_kernels::types::Ty;

/// The threads that run the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Each thread by itself, in a kernel of one thread an element and in a `#[device]` function.
    Thread,
    /// All threads of a block, which do the same.
    Block,
    /// Each thread of a block by itself. Locals before this one are the block's.
    Phase(usize),
    /// A closure in a block, which phases and the block may call. Locals before this one are the block's.
    Closure(usize),
}

/// Whose elements of an `Own` or `Out` a kernel in blocks writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    Thread,
    Block,
    /// A block has tiles with so many rows and columns, in C++.
    Tiles(String, String),
    /// A block has rows.
    Rows,
}

/// A name as rustc compares it: that of a `macro_rules` is another than the same letters of its caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) origin: String,
}

/// What a name stands for.
#[derive(Debug)]
pub(super) enum Meaning {
    Local(LocalId),
    /// What a `use` in the function has brought in.
    Item(Path),
}

impl Name {
    pub(super) fn of(name: &Ident) -> Self {
        Self { text: name.unraw().to_string(), origin: origin(name.span()) }
    }
}

/// A loop around, or a block with a label.
pub(super) struct Around {
    pub(super) id: LoopId,
    pub(super) label: Option<Ident>,
    pub(super) is_block: bool,
    /// The type of the values with which it is left.
    pub(super) value: Ty,
    pub(super) is_left: bool,
    pub(super) has_value: bool,
}

/// What was lowered so far that matters to whether a loop waits for another thread.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turns {
    /// Accesses to atomics that change nothing if they are made again.
    pub(super) accesses: usize,
    /// Elements of any thread, taken in `unsafe`.
    pub(super) elements: usize,
    /// What may make the next turn of a loop differ from this one.
    pub(super) changes: usize,
}
