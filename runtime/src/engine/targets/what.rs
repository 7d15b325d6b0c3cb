//! [`What`]: what an operation does, for those that time it or work its time out.

use crate::base::engine::Engine;
use crate::driver::Command;

/// A stream or an event of a pipeline: the driver's handle, and its place among the pipeline's, by which a
/// recorder knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbered<H> {
    pub(crate) raw: H,
    pub(crate) number: usize,
}

/// What an operation has done, and by whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct What {
    pub(crate) engine: Engine,
    /// That are copied, or that a kernel or a function is given.
    pub(crate) bytes: u64,
    /// Of a launch.
    pub(crate) blocks: u64,
}

impl What {
    pub(crate) fn new(engine: Engine, bytes: usize) -> Self {
        Self { engine, bytes: bytes as u64, blocks: 0 }
    }

    /// That of a command; `None` of what no engine carries out by itself.
    pub(crate) fn of(command: &Command<'_>) -> Option<Self> {
        Some(Self { blocks: command.blocks(), ..Self::new(command.engine()?, command.bytes()) })
    }
}

/// What the host has a part in, beside enqueuing it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HostPart {
    /// A copy through a staging slot.
    Staged { engine: Engine, bytes: usize },
    /// A routine, given so many bytes.
    Routine { bytes: usize },
    /// A function on the CPU, given so many bytes.
    Function { bytes: usize },
    /// A callback.
    Callback,
    /// The variables of a kernel's module are given values.
    Variables,
}
