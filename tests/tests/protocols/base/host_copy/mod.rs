//! The copying threads. They copy a count for each piece, and the machine has four cores.

#[allow(dead_code, reason = "the models use a part of it")]
#[path = "../../../../../runtime/src/base/host_copy/workers.rs"]
mod workers;

mod copy;
mod copying;
mod injector;

use injector::{Injector, Steal};

static CORES: &usize = &4;

/// A thread's action between two looks.
pub(crate) fn let_a_moment_pass() {
    loom::thread::yield_now();
}

mod numa {
    /// The same on every machine.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(in crate::base) struct Node;

    impl Node {
        pub(super) fn cores(&self) -> usize {
            *super::CORES
        }

        pub(super) fn settle(&self) {}
    }
}
