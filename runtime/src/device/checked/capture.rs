//! [`Capturing`]: operations that are not carried out but become part of a graph.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::error::{Detail, Result, counted};
use crate::base::threads::Grid;
use crate::device::pending::uses::{Kept, Used};
use crate::device::pending::{Caller, SharedFaults, raced};
use crate::driver::command::recording::{NotInGraph, Recording};
use crate::driver::{Bodies, Command, HostBodies, Tag};

/// The graph that a stream's operations become part of.
#[derive(Debug, Clone)]
pub(crate) struct Capturing {
    pub(crate) into: Arc<Mutex<Captured>>,
    /// The nodes that the next one comes after.
    pub(crate) after: Vec<u32>,
}

/// A graph, as far as it is recorded.
#[derive(Default)]
pub(crate) struct Captured {
    pub(crate) nodes: Recording,
    /// The host bodies of each launch, with its grid, in order.
    pub(crate) bodies: Vec<(Box<dyn Bodies>, Grid)>,
    pub(crate) memory: Vec<Node>,
    /// The kernels in Rust that it launches.
    pub(crate) faults: Vec<Arc<SharedFaults>>,
    /// Whether the graph is captured, so that nothing more becomes part of it.
    pub(crate) done: bool,
}

/// The memory that one node uses.
pub(crate) struct Node {
    pub(crate) caller: Caller,
    pub(crate) used: Vec<Kept>,
    /// For each earlier node, whether this one comes after it.
    before: Vec<bool>,
}

impl Captured {
    pub(crate) fn locked(this: &Mutex<Self>) -> MutexGuard<'_, Self> {
        // No code of the user's runs under the lock.
        this.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn before(&self, after: &[u32]) -> Vec<bool> {
        let mut before = vec![false; self.memory.len()];
        for &node in after {
            before[node as usize] = true;
            let its = &self.memory[node as usize].before;
            before.iter_mut().zip(its).for_each(|(before, its)| *before |= its);
        }
        before
    }

    /// The earlier use of the same memory that a new node does not come after.
    fn conflict(&self, used: &[Used<'_>], before: &[bool]) -> Option<(Caller, bool, bool)> {
        let unordered = self.memory.iter().zip(before).filter(|(_, before)| !**before);
        let uses = unordered.flat_map(|(node, _)| node.used.iter().map(|earlier| (node.caller, earlier)));
        uses.flat_map(|(caller, earlier)| used.iter().map(move |new| (caller, earlier, new)))
            .find(|(_, earlier, new)| {
                let overlap = earlier.bytes.start < new.bytes.end && new.bytes.start < earlier.bytes.end;
                (earlier.write || new.write) && overlap
            })
            .map(|(caller, earlier, new)| (caller, earlier.write, new.write))
    }
}

impl Capturing {
    /// Whether both become the same graph.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.into, &other.into)
    }

    /// Makes the next operation also come after everything that the other's next one would come after.
    pub(crate) fn comes_after(&mut self, other: &Self) {
        for node in &other.after {
            if !self.after.contains(node) {
                self.after.push(*node);
            }
        }
    }

    /// The number of nodes.
    pub(crate) fn len(&self) -> usize {
        Captured::locked(&self.into).memory.len()
    }

    /// Whether the graph is captured.
    pub(crate) fn is_done(&self) -> bool {
        Captured::locked(&self.into).done
    }

    /// Makes a node of a command; `false` if the graph is captured already.
    ///
    /// # Errors
    /// The command cannot be a node, or nothing orders it with an earlier one on the same memory.
    ///
    /// # Safety
    /// As [`StreamCore::enqueue`](super::core::StreamCore::enqueue), for every launch of the graph.
    pub(crate) unsafe fn record(
        &mut self,
        caller: Caller,
        tag: Tag,
        used: &[Used<'_>],
        checked: bool,
        command: &Command<'_>,
        kernels: &[Arc<SharedFaults>],
    ) -> Result<bool> {
        let mut captured = Captured::locked(&self.into);
        if captured.done {
            return Ok(false);
        }
        let before = captured.before(&self.after);
        if checked && let Some((earlier, wrote, writes)) = captured.conflict(used, &before) {
            return Err(raced((earlier, wrote), (caller, writes), ""));
        }
        let not_in_graph = || Detail::NotInGraph { operation: caller.what };
        // A host body that can be made only once could not be made for each launch of the graph.
        let mut bodies = None;
        if let Command::Launch(launch) = command {
            let HostBodies::Many(its) = launch.bodies else { return Err(not_in_graph().into()) };
            bodies = Some((its.kept(), launch.configuration()));
        }
        // SAFETY: the parameters are those of a launch, which are initialised.
        let pushed = unsafe { captured.nodes.push(tag, &self.after, command) };
        let node = pushed.map_err(|NotInGraph| not_in_graph())?;
        captured.bodies.extend(bodies);
        for kernel in kernels {
            if !captured.faults.iter().any(|known| Arc::ptr_eq(known, kernel)) {
                captured.faults.push(Arc::clone(kernel));
            }
        }
        captured.memory.push(Node { caller, used: used.iter().map(Used::keep).collect(), before });
        self.after = vec![node];
        Ok(true)
    }
}

impl std::fmt::Debug for Captured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", counted(self.nodes.len(), "operation"))
    }
}
