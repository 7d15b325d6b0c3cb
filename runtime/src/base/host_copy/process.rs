//! What the process has one of: its cores, and threads that copy for each node.

use std::sync::{LazyLock, Mutex, PoisonError};

use super::numa::Node;
use super::workers::Workers;

/// Of the machine, for this process.
pub(super) static CORES: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

/// What to do between two looks at something that another thread is about to change.
pub(crate) fn let_a_moment_pass() {
    if *CORES > 2 { std::hint::spin_loop() } else { std::thread::yield_now() }
}

/// For devices that are as near to one core as to another.
static ANYWHERE: LazyLock<&'static Workers> = LazyLock::new(|| Box::leak(Box::default()));

/// Those near some cores, by their node.
static NEAR: Mutex<Vec<&'static Workers>> = Mutex::new(Vec::new());

impl Workers {
    /// Those that run on this node, or anywhere.
    pub(crate) fn near(node: Option<&Node>) -> &'static Self {
        let Some(node) = node else { return &ANYWHERE };
        let mut all = NEAR.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |workers: &&&Self| workers.node() == Some(node);
        if let Some(workers) = all.iter().find(same) {
            return workers;
        }
        let workers: &'static Self = Box::leak(Box::new(Self::on(Some(node.clone()))));
        all.push(workers);
        workers
    }
}
