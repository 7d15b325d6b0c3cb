//! [`Node`]: the part of a machine with several memories that a GPU is attached to.
//!
//! Such a machine has a memory, and cores near it, for each of its sockets or parts of them. What a GPU copies goes through
//! the memory that page-locked pages are in: the one near the GPU, if a thread that runs there was the first to touch them.
//! Threads that copy to and from such pages run there, too.

use std::fs;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A node, and those of its cores that this process may run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(super) id: u32,
    cpus: Vec<usize>,
}

impl Node {
    /// That of the PCI device with this address, `0000:41:00.0`. `None` where there is one node only, or none is known, or
    /// the process may not run there.
    pub(crate) fn of_device(address: &str) -> Option<Self> {
        Self::find(Path::new("/sys"), address, &allowed()?)
    }

    fn find(sys: &Path, address: &str, allowed: &[usize]) -> Option<Self> {
        let read = |path: &Path| fs::read_to_string(sys.join(path)).ok();
        let nodes = Path::new("devices/system/node");
        if numbers(&read(&nodes.join("has_memory"))?).len() < 2 {
            return None;
        }
        // -1 where the firmware does not say.
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

    /// How many cores there are.
    pub(super) fn cores(&self) -> usize {
        self.cpus.len()
    }

    /// Has the calling thread, and those that it starts, run here only. Where the system refuses they run anywhere.
    pub(super) fn settle(&self) {
        #[cfg(target_os = "linux")]
        {
            let mut set = CpuSet::new();
            self.cpus.iter().for_each(|&cpu| set.set(cpu));
            let _ = sched_setaffinity(None, &set);
        }
    }
}

/// What `work` returns, which a thread does that runs on the node, if one is given: what it is the first to touch is then in
/// that node's memory.
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

/// Those of a list like `0-3,8`.
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

    /// A machine as the system describes it: the nodes' cores, and where a GPU is.
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
        // One node; none known; another machine's; none of its cores for this process; no cores at all.
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
        // And by the threads that are started there.
        let there = near(Some(&node), || [allowed(), thread::spawn(allowed).join().unwrap()]);
        assert_eq!(there, [Some(node.cpus.clone()), Some(node.cpus.clone())]);
        assert_eq!(allowed().unwrap(), mine);
        assert_eq!(near(None, || thread::current().id()), thread::current().id());
        let panicked = std::panic::catch_unwind(|| near(Some(&node), || panic!("so it does")));
        assert!(panicked.is_err());
    }
}
