//! [`Node`]: the part of a machine with several memories to which a GPU is attached.
//!
//! Such a machine has one memory, with cores near it, for each of its sockets or parts of them. A GPU's
//! copies go through the memory that holds the page-locked pages. That memory is the one near the GPU if a
//! thread that runs there touched the pages first. Threads that copy to and from such pages run there, too.

use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A node, and the cores of it that this process may run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(super) id: u32,
    cpus: Vec<usize>,
}

impl Node {
    /// The node of the PCI device with this address, such as `0000:41:00.0`. `None` if there is only one
    /// node, if the device's is not known, or if the process may not run there.
    pub(crate) fn of_device(address: &str) -> Option<Self> {
        Self::find(Path::new("/sys"), address, &allowed()?)
    }

    fn find(sys: &Path, address: &str, allowed: &[usize]) -> Option<Self> {
        let read = |path: &Path| fs::read_to_string(sys.join(path)).ok();
        let nodes = Path::new("devices/system/node");
        if numbers(&read(&nodes.join("has_memory"))?).len() < 2 {
            return None;
        }
        // The firmware gives -1 if it does not know the node.
        let id: u32 =
            read(&Path::new("bus/pci/devices").join(address).join("numa_node"))?.trim().parse().ok()?;
        let mut cpus = numbers(&read(&nodes.join(format!("node{id}/cpulist")))?);
        cpus.retain(|cpu| allowed.contains(cpu));
        (!cpus.is_empty()).then_some(Self { id, cpus })
    }

    #[cfg(test)]
    pub(super) fn of(id: u32, cpus: &[usize]) -> Self {
        Self { id, cpus: cpus.to_vec() }
    }

    /// The number of its cores.
    pub(super) fn cores(&self) -> usize {
        self.cpus.len()
    }

    /// Restricts the calling thread, and those that it starts, to this node. If the system refuses, they run
    /// anywhere.
    pub(super) fn settle(&self) {
        #[cfg(target_os = "linux")]
        {
            let mut set = CpuSet::new();
            self.cpus.iter().for_each(|&cpu| set.set(cpu));
            let _ = sched_setaffinity(None, &set);
        }
    }
}

/// Returns the result of `work`. If a node is given, a thread that runs on the node does the work, so that
/// pages that it touches first are in the node's memory.
pub(crate) fn near<T: Send>(node: Option<&Node>, work: impl Fn() -> T + Sync) -> T {
    let Some(node) = node else { return work() };
    let there = || {
        node.settle();
        work()
    };
    let outcome = thread::scope(|scope| {
        let thread = thread::Builder::new().name("thalweg-near".to_owned()).spawn_scoped(scope, there);
        thread.ok().map(ScopedJoinHandle::join)
    });
    match outcome {
        Some(Ok(value)) => value,
        Some(Err(panic)) => resume_unwind(panic),
        // The system gives no thread.
        None => work(),
    }
}

/// The cores that the calling thread may run on.
#[cfg(target_os = "linux")]
fn allowed() -> Option<Vec<usize>> {
    let set = sched_getaffinity(None).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Option<Vec<usize>> {
    None
}

/// The numbers of a list such as `0-3,8`.
fn numbers(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A machine as the system describes it: the nodes' cores, and the node of a GPU.
    fn machine(nodes: &[&str], numa_node: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        };
        let last = nodes.len() - 1;
        let all = if last == 0 { "0".to_owned() } else { format!("0-{last}") };
        write("devices/system/node/has_memory", &all);
        for (id, cpus) in nodes.iter().enumerate() {
            write(&format!("devices/system/node/node{id}/cpulist"), cpus);
        }
        write("bus/pci/devices/0000:41:00.0/numa_node", numa_node);
        let path = folder.path().to_owned();
        (folder, path)
    }

    #[test]
    fn a_gpu_is_near_some_of_the_cores() {
        let all: Vec<usize> = (0..16).collect();
        let find = |nodes: &[&str], numa_node: &str, allowed: &[usize]| {
            let (_folder, sys) = machine(nodes, numa_node);
            Node::find(&sys, "0000:41:00.0", allowed)
        };
        let node = |id, cpus: &[usize]| Some(Node::of(id, cpus));
        assert_eq!(find(&["0-3,8-11", "4-7,12-15"], "1", &all), node(1, &[4, 5, 6, 7, 12, 13, 14, 15]));
        assert_eq!(find(&["0-3", "4-7"], "0", &[2, 3, 4]), node(0, &[2, 3]));
        // One node; no known node; another machine's node; no core for this process; no cores at all.
        assert_eq!(find(&["0-15"], "0", &all), None);
        assert_eq!(find(&["0-3", "4-7"], "-1", &all), None);
        assert_eq!(find(&["0-3", "4-7"], "2", &all), None);
        assert_eq!(find(&["0-3", "4-7"], "1", &[0, 1]), None);
        assert_eq!(find(&["0-15", ""], "1", &all), None);
        let (_folder, sys) = machine(&["0-3", "4-7"], "1");
        assert_eq!(Node::find(&sys, "0000:42:00.0", &all), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn work_is_done_near() {
        let mine = allowed().unwrap();
        let node = Node::of(1, &mine[mine.len() - 1..]);
        // Threads that are started there run there too.
        let there = near(Some(&node), || [allowed(), thread::spawn(allowed).join().unwrap()]);
        assert_eq!(there, [Some(node.cpus.clone()), Some(node.cpus.clone())]);
        assert_eq!(allowed().unwrap(), mine);
        assert_eq!(near(None, || thread::current().id()), thread::current().id());
        let panicked = std::panic::catch_unwind(|| near(Some(&node), || panic!("so it does")));
        assert!(panicked.is_err());
    }
}
