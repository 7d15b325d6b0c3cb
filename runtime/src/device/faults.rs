//! [`Faults`]: what threads of a kernel in Rust have left when they failed.

use crate::base::in_rust::{KernelFault, RustSource};
use crate::driver::FaultWord;

/// The faults of a kernel in Rust on a GPU.
#[derive(Debug)]
pub(crate) struct Faults {
    pub(crate) kernel: &'static str,
    source: &'static RustSource,
    word: FaultWord,
    /// Whether a launch fails again in the same way on what it has read.
    pub(crate) replays: bool,
}

impl Faults {
    /// The faults of a kernel whose module writes to this word.
    pub(crate) fn new(
        kernel: &'static str,
        source: &'static RustSource,
        word: FaultWord,
        replays: bool,
    ) -> Self {
        Self { kernel, source, word, replays }
    }

    /// The fault of a thread since the last call. Launches before it have completed.
    pub(crate) fn take(&self) -> Option<KernelFault> {
        match self.word.take() {
            (0, _) => None,
            (place, numbers) => Some(self.source.fault(place, numbers)),
        }
    }
}
