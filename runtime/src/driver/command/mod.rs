//! [`Command`]: an operation that is enqueued on a stream.
//!
//! It is the only list of operations. A driver carries a command out
//! ([`Driver::enqueue`](super::Driver::enqueue)), a [`Recording`] keeps it as a graph's node, and its methods
//! answer all further questions.

pub(crate) mod recording;

use recording::Recording;

use crate::base::engine::Engine;
use crate::driver::collective::RawCollective;
use crate::driver::handles::{Access, DevicePtr, Peer, RawEvent, RawGraph};
use crate::driver::launch::{HostBody, RawLaunch};

/// The host's work when a stream gets there.
pub(crate) type HostJob = Box<dyn FnOnce() + Send + 'static>;

/// An operation that is enqueued on a stream, asynchronously.
///
/// The caller of [`Driver::enqueue`](super::Driver::enqueue) promises what each command says. Host memory of
/// copies is page-locked memory of the driver. If a copy writes it, nothing else accesses it until the copy
/// has completed.
// Note 55: it is the only list of operations.
pub(crate) enum Command<'a> {
    /// Copies host memory to the device.
    CopyToDevice { to: DevicePtr, from: *const u8, bytes: usize },
    /// Copies device memory to the host.
    CopyToHost { to: *mut u8, from: DevicePtr, bytes: usize },
    /// Copies device memory to device memory. The ranges do not overlap.
    CopyOnDevice { to: DevicePtr, from: DevicePtr, bytes: usize },
    /// Copies memory of one device to memory of another. The stream is of one of the two, and they were
    /// [connected](super::Driver::connect).
    CopyBetween { to: (Peer, DevicePtr), from: (Peer, DevicePtr), bytes: usize },
    /// Copies rows. If both sides are on the device, they do not overlap.
    CopyRows(Rows),
    /// Writes `pattern` `count` times, one after another. `to` is aligned to the pattern's [word](fill_word).
    Fill { to: DevicePtr, pattern: &'a [u8], count: usize },
    /// Launches a kernel. The caller has checked the limits. The parameters match the kernel's, each of them
    /// points to as many initialised bytes as its size says, and the kernel stays within the accesses.
    Launch(&'a RawLaunch<'a>),
    /// Runs `job` on a thread of this crate's own. Operations that are enqueued on the stream afterwards
    /// start when the job has returned. A job that unwinds counts as returned, and has no other effect.
    ///
    /// While a job runs, whatever waits for the whole device waits for it too: on CUDA, loading a kernel,
    /// allocating and freeing. So a job must not wait for a thread that does any of these.
    ///
    /// If the stream never gets to a job, because something before it has failed, the job is dropped without
    /// being run. A job may take its time, but it may not call the device. `accesses` are ranges of
    /// page-locked memory of the driver (the pointer is the address), and the job stays within them, or uses
    /// only memory that has nothing to do with the device.
    Host { job: HostJob, accesses: &'a [Access] },
    /// Calls the function when the stream gets there: once, or never if something before it has failed. Then
    /// the function is dropped.
    ///
    /// It may run on the driver's own thread, which every stream waits for. So it must be quick and may wait
    /// for nothing, and neither it nor anything that it drops may call a device.
    Signal(HostJob),
    /// Makes the event stand for everything enqueued on the stream so far.
    Record(RawEvent),
    /// Makes all later operations on the stream start after the event's latest record, if it has one.
    Wait(RawEvent),
    /// Launches a graph. All of it comes after everything enqueued on the stream so far, and before
    /// everything enqueued there later. `nodes` are the graph's commands, whose promises hold. `bodies` are
    /// the host bodies of its launches, in order, on a device on the host only.
    Graph { graph: &'a RawGraph, nodes: &'a Recording, bodies: Vec<HostBody> },
    /// Does its part of what all ranks of a communicator do together. Each of them enqueues the same ones in the
    /// same order, and each begins when all before it in its stream are over.
    Collective(&'a RawCollective),
}

impl Command<'_> {
    /// CUDA's function that enqueues it. A launch may need another one.
    pub(crate) fn call(&self) -> &'static str {
        match self {
            Self::CopyToDevice { .. } => "cuMemcpyHtoDAsync",
            Self::CopyToHost { .. } => "cuMemcpyDtoHAsync",
            Self::CopyOnDevice { .. } => "cuMemcpyDtoDAsync",
            Self::CopyBetween { .. } => "cuMemcpyPeerAsync",
            Self::CopyRows(_) => "cuMemcpy2DAsync",
            Self::Fill { .. } => "cuMemsetAsync",
            Self::Launch(_) => "cuLaunchKernel",
            Self::Host { .. } | Self::Signal(_) => "cuLaunchHostFunc",
            Self::Record(_) => "cuEventRecord",
            Self::Wait(_) => "cuStreamWaitEvent",
            Self::Graph { .. } => "cuGraphLaunch",
            Self::Collective(collective) => collective.call(),
        }
    }

    /// Whether it copies or fills no bytes, so that it need not be enqueued. A graph is launched whatever its
    /// nodes do.
    #[inline]
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::CopyToDevice { bytes, .. }
            | Self::CopyToHost { bytes, .. }
            | Self::CopyOnDevice { bytes, .. }
            | Self::CopyBetween { bytes, .. } => *bytes == 0,
            Self::CopyRows(rows) => rows.is_empty(),
            Self::Fill { pattern, count, .. } => pattern.is_empty() || *count == 0,
            Self::Launch(_)
            | Self::Host { .. }
            | Self::Signal(_)
            | Self::Record(_)
            | Self::Wait(_)
            | Self::Collective(_)
            | Self::Graph { .. } => false,
        }
    }

    /// The engine that carries it out; `None` for a command that only orders others, and for a graph, whose
    /// nodes differ.
    #[inline]
    pub(crate) fn engine(&self) -> Option<Engine> {
        match self {
            // A device's copy engine serves its peers, too.
            Self::CopyToDevice { .. } | Self::CopyBetween { .. } => Some(Engine::ToDevice),
            Self::CopyToHost { .. } => Some(Engine::ToHost),
            Self::CopyRows(rows) => Some(match rows.between {
                RowsBetween::HostAndDevice { .. } => Engine::ToDevice,
                RowsBetween::DeviceAndHost { .. } => Engine::ToHost,
                RowsBetween::OnDevice { .. } => Engine::Compute,
            }),
            Self::CopyOnDevice { .. } | Self::Fill { .. } | Self::Launch(_) => Some(Engine::Compute),
            Self::Host { .. } | Self::Signal(_) => Some(Engine::Host),
            Self::Collective(_) => Some(Engine::Network),
            Self::Record(_) | Self::Wait(_) | Self::Graph { .. } => None,
        }
    }

    /// The bytes that it copies or fills, or that a kernel or a function is given. The bytes of a graph are
    /// those of its nodes, and are not counted here.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        let given = |accesses: &[Access]| accesses.iter().map(|access| access.bytes).sum();
        match self {
            Self::CopyToDevice { bytes, .. }
            | Self::CopyToHost { bytes, .. }
            | Self::CopyOnDevice { bytes, .. }
            | Self::CopyBetween { bytes, .. } => *bytes,
            Self::CopyRows(rows) => rows.width.saturating_mul(rows.height),
            Self::Fill { pattern, count, .. } => pattern.len().saturating_mul(*count),
            Self::Launch(launch) => given(launch.accesses),
            Self::Host { accesses, .. } => given(accesses),
            Self::Collective(collective) => collective.bytes(),
            Self::Signal(_) | Self::Record(_) | Self::Wait(_) | Self::Graph { .. } => 0,
        }
    }

    /// The number of a launch's blocks; 0 for any other command, and for a routine on the host.
    #[inline]
    pub(crate) fn blocks(&self) -> u64 {
        if let Self::Launch(launch) = self { launch.blocks().unwrap_or(0) } else { 0 }
    }

    /// The addresses of the memory that it copies or fills itself, which a graph's node knows by its
    /// allocation.
    pub(crate) fn places(&self) -> [Option<u64>; 2] {
        match *self {
            Self::CopyToDevice { to, from, .. } => [Some(to.0), Some(from.addr() as u64)],
            Self::CopyToHost { to, from, .. } => [Some(to.addr() as u64), Some(from.0)],
            Self::CopyOnDevice { to, from, .. } => [Some(to.0), Some(from.0)],
            Self::CopyBetween { to, from, .. } => [Some(to.1.0), Some(from.1.0)],
            Self::CopyRows(Rows { between, .. }) => match between {
                RowsBetween::HostAndDevice { to, from } => [Some(to.0), Some(from.addr() as u64)],
                RowsBetween::DeviceAndHost { to, from } => [Some(to.addr() as u64), Some(from.0)],
                RowsBetween::OnDevice { to, from } => [Some(to.0), Some(from.0)],
            },
            Self::Fill { to, .. } => [Some(to.0), None],
            Self::Launch(_)
            | Self::Host { .. }
            | Self::Signal(_)
            | Self::Record(_)
            | Self::Wait(_)
            | Self::Collective(_)
            | Self::Graph { .. } => [None; 2],
        }
    }
}

/// The bytes that a memset writes at a time, for a pattern of `pattern` bytes: the largest of 4, 2 and 1 that
/// divides it. A memset refuses memory that is not aligned to it.
pub(crate) fn fill_word(pattern: usize) -> usize {
    [4, 2].into_iter().find(|bytes| pattern.is_multiple_of(*bytes)).unwrap_or(1)
}

/// A copy of rows that are a pitch apart. Sizes are in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub between: RowsBetween,
    /// The size of a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The distance from the beginning of one row to that of the next, at least a row's width.
    pub from_pitch: usize,
    pub to_pitch: usize,
}

/// The two sides of a copy of rows. Host memory is page-locked.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowsBetween {
    HostAndDevice { to: DevicePtr, from: *const u8 },
    DeviceAndHost { to: *mut u8, from: DevicePtr },
    OnDevice { to: DevicePtr, from: DevicePtr },
}

impl Rows {
    /// Whether nothing is copied.
    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0
    }
}

/// A command is passed by value, so a launch is behind a reference.
const _: () = assert!(size_of::<Command<'_>>() <= 64);

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::base::collective::{CollectiveKind, Operands};
    use crate::driver::collective::{Message, RawCommunicator, Shared};
    use crate::driver::{HostBodies, RawFunction};

    const AT: DevicePtr = DevicePtr(512);

    /// The properties of a command: the call, the engine, its bytes and blocks, the memory that it knows.
    fn said(command: &Command<'_>) -> (&'static str, Option<Engine>, usize, u64, Vec<u64>) {
        let places = command.places().into_iter().flatten().collect();
        (command.call(), command.engine(), command.bytes(), command.blocks(), places)
    }

    fn rows(between: RowsBetween) -> Command<'static> {
        Command::CopyRows(Rows { between, width: 3, height: 4, from_pitch: 8, to_pitch: 3 })
    }

    #[test]
    fn what_a_command_takes_is_asked_of_it() {
        let (host, host_mut) = (ptr::without_provenance(64), ptr::without_provenance_mut(64));
        let (to_device, to_host, compute) = (Engine::ToDevice, Engine::ToHost, Engine::Compute);
        let access = |bytes| Access { ptr: AT, bytes, write: true, anew: false };
        let accesses = [access(5), access(7)];
        let launch = |handle| RawLaunch {
            function: RawFunction::plain(handle, 1, 0),
            grid: [2, 3, 1],
            block: [32, 1, 1],
            shared: 0,
            params: &[],
            sizes: &[],
            accesses: &accesses,
            bodies: HostBodies::OfGraph,
        };
        let (kernel, routine, nodes) = (launch(9), launch(0), Recording::default());
        let copy = Command::CopyToDevice { to: AT, from: host, bytes: 10 };
        assert_eq!(said(&copy), ("cuMemcpyHtoDAsync", Some(to_device), 10, 0, vec![512, 64]));
        let copy = Command::CopyToHost { to: host_mut, from: AT, bytes: 10 };
        assert_eq!(said(&copy), ("cuMemcpyDtoHAsync", Some(to_host), 10, 0, vec![64, 512]));
        let copy = Command::CopyOnDevice { to: AT, from: DevicePtr(256), bytes: 10 };
        assert_eq!(said(&copy), ("cuMemcpyDtoDAsync", Some(compute), 10, 0, vec![512, 256]));
        let (call, bytes) = ("cuMemcpy2DAsync", 12);
        let between = Command::CopyBetween { to: (Peer(1), AT), from: (Peer(0), DevicePtr(256)), bytes: 10 };
        assert_eq!(said(&between), ("cuMemcpyPeerAsync", Some(to_device), 10, 0, vec![512, 256]));
        let copy = rows(RowsBetween::HostAndDevice { to: AT, from: host });
        assert_eq!(said(&copy), (call, Some(to_device), bytes, 0, vec![512, 64]));
        let copy = rows(RowsBetween::DeviceAndHost { to: host_mut, from: AT });
        assert_eq!(said(&copy), (call, Some(to_host), bytes, 0, vec![64, 512]));
        let copy = rows(RowsBetween::OnDevice { to: AT, from: DevicePtr(256) });
        assert_eq!(said(&copy), (call, Some(compute), bytes, 0, vec![512, 256]));
        let fill = Command::Fill { to: AT, pattern: &[1, 2], count: 4 };
        assert_eq!(said(&fill), ("cuMemsetAsync", Some(compute), 8, 0, vec![512]));
        let call = "cuLaunchKernel";
        assert_eq!(said(&Command::Launch(&kernel)), (call, Some(compute), 12, 6, vec![]));
        assert_eq!(said(&Command::Launch(&routine)), (call, Some(compute), 12, 0, vec![]));
        let (call, host) = ("cuLaunchHostFunc", Some(Engine::Host));
        let function = Command::Host { job: Box::new(|| {}), accesses: &accesses };
        assert_eq!(said(&function), (call, host, 12, 0, vec![]));
        assert_eq!(said(&Command::Signal(Box::new(|| {}))), (call, host, 0, 0, vec![]));
        assert_eq!(said(&Command::Record(RawEvent(1))), ("cuEventRecord", None, 0, 0, vec![]));
        assert_eq!(said(&Command::Wait(RawEvent(1))), ("cuStreamWaitEvent", None, 0, 0, vec![]));
        let graph = Command::Graph { graph: &RawGraph::default(), nodes: &nodes, bodies: Vec::new() };
        assert_eq!(said(&graph), ("cuGraphLaunch", None, 0, 0, vec![]));
        assert!(!graph.is_nothing());
    }

    #[test]
    fn a_collective_takes_the_links() {
        let operands = Operands::ANY;
        let message = |rank| Message { rank, at: AT, bytes: 3 };
        let works = [
            (Shared::AllReduce { at: AT, bytes: 8, operands }, "ncclAllReduce", 8),
            (Shared::Reduce { at: AT, bytes: 8, operands, root: 1 }, "ncclReduce", 8),
            (Shared::Broadcast { at: AT, bytes: 8, root: 1 }, "ncclBroadcast", 8),
            (Shared::AllGather { from: AT, to: DevicePtr(1024), bytes: 8 }, "ncclAllGather", 8),
            (
                Shared::ReduceScatter { from: AT, to: DevicePtr(1024), bytes: 8, parts: 3, operands },
                "ncclReduceScatter",
                24,
            ),
            (
                Shared::Messages { sends: vec![message(0), message(1)], receives: vec![message(2)] },
                "ncclSend",
                6,
            ),
            (Shared::Barrier, "ncclAllReduce", 0),
        ];
        for (work, call, bytes) in works {
            let (communicator, kind) = (RawCommunicator(1), CollectiveKind::AllReduce);
            let collective = RawCollective {
                communicator,
                kind,
                text: "all_reduce sum g",
                line: 1,
                work,
                accesses: Vec::new(),
            };
            let command = Command::Collective(&collective);
            assert_eq!(said(&command), (call, Some(Engine::Network), bytes, 0, vec![]));
            assert!(!command.is_nothing(), "the others wait for it");
        }
    }

    #[test]
    fn a_word_is_what_divides_the_pattern() {
        let words = [1, 2, 3, 4, 6, 8, 10, 12, 13].map(fill_word);
        assert_eq!(words, [1, 2, 1, 4, 2, 4, 2, 4, 1]);
    }

    #[test]
    fn only_copies_and_fills_of_no_bytes_are_nothing() {
        let copy = |bytes| Command::CopyOnDevice { to: AT, from: AT, bytes };
        assert!(copy(0).is_nothing() && !copy(1).is_nothing());
        let fill = |pattern, count| Command::Fill { to: AT, pattern, count };
        assert!(fill(&[], 1).is_nothing() && fill(&[0], 0).is_nothing() && !fill(&[0], 1).is_nothing());
        let between = RowsBetween::OnDevice { to: AT, from: AT };
        let rows =
            |width, height| Command::CopyRows(Rows { between, width, height, from_pitch: 1, to_pitch: 1 });
        assert!(rows(0, 1).is_nothing() && rows(1, 0).is_nothing() && !rows(1, 1).is_nothing());
        assert!(!Command::Signal(Box::new(|| {})).is_nothing() && !Command::Record(RawEvent(1)).is_nothing());
    }
}
