//! State of the process: the number of its cores, and for each node the threads that copy.

use std::sync::{LazyLock, PoisonError, RwLock};

use super::numa::Node;
use super::workers::Workers;

/// The number of the machine's cores that this process may use.
pub(super) static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// Lets a moment pass between two looks at a value that another thread is about to change.
pub(crate) fn let_a_moment_pass() {
    if *CORES > 2 { std::hint::spin_loop() } else { std::thread::yield_now() }
}

/// The threads for devices that are equally near to all cores.
static ANYWHERE: LazyLock<&'static Workers> = LazyLock::new(|| Box::leak(Box::default()));

/// The threads near some cores, by their node. Every run asks for them, so those that only look do not wait for
/// each other.
static NEAR: RwLock<Vec<&'static Workers>> = RwLock::new(Vec::new());

impl Workers {
    /// The threads that run on this node, or anywhere.
    pub(crate) fn near(node: Option<&Node>) -> &'static Self {
        let Some(node) = node else { return &ANYWHERE };
        let known = |all: &[&'static Self]| all.iter().copied().find(|its| its.node() == Some(node));
        if let Some(workers) = known(&NEAR.read().unwrap_or_else(PoisonError::into_inner)) {
            return workers;
        }
        let mut all = NEAR.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have added them meanwhile.
        if let Some(workers) = known(&all) {
            return workers;
        }
        let workers: &'static Self = Box::leak(Box::new(Self::on(Some(node.clone()))));
        all.push(workers);
        workers
    }
}
