//! [`What`]: the kind and size of an operation's work, for measuring or predicting its time.

use crate::base::engine::Engine;
use crate::driver::Command;

/// A stream or an event of a pipeline: the driver's handle, and its number among the pipeline's, by which a
/// recorder knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbered<H> {
    pub(crate) raw: H,
    pub(crate) number: usize,
}

/// The work of an operation, and its engine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct What {
    pub(crate) engine: Engine,
    /// Bytes that are copied, or that a kernel or a function is given.
    pub(crate) bytes: u64,
    /// Blocks of a launch.
    pub(crate) blocks: u64,
}

impl What {
    pub(crate) fn new(engine: Engine, bytes: usize) -> Self {
        Self { engine, bytes: bytes as u64, blocks: 0 }
    }

    /// The work of a command; `None` if no engine carries it out by itself.
    pub(crate) fn of(command: &Command<'_>) -> Option<Self> {
        Some(Self { blocks: command.blocks(), ..Self::new(command.engine()?, command.bytes()) })
    }
}

/// The host's part of an operation, beside enqueuing it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HostPart {
    /// A copy through a staging slot.
    Staged { engine: Engine, bytes: usize },
    /// A routine that is given so many bytes.
    Routine { bytes: usize },
    /// A function on the CPU that is given so many bytes.
    Function { bytes: usize },
    /// What ranks do together, which takes so long.
    Collective { bytes: usize, nanos: f64 },
    /// A callback.
    Callback,
    /// Copies of values to the variables of a kernel's module.
    Variables,
}
