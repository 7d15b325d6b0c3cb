//! Repeated runs in graph mode: the graphs of the run before are launched again, and nothing is recorded.
//!
//! A run's commands follow from its parameters, its arguments and its chunks. If the generated code says that
//! nothing else matters (no user function is called), comparing these suffices. Whatever it says, a repeated
//! launch accesses only the same memory as the last time: arguments that are compared, and a ring of which
//! nothing was freed. A device of several compares what it has of them: its parts, and its chunks.

use std::any::{Any, TypeId};
use std::ops::Range;

use crate::base::chunk::Chunk;
use crate::base::plan::{OperationKind, Plan};
use crate::base::threads::blocks;
use crate::device::Device;
use crate::device::memory::NO_OPERATION;
use crate::driver::{Command, DevicePtr, DriverResult};
use crate::engine::arguments::in_place::InPlace;
use crate::engine::arguments::{Arguments, HostArgument, HostMemory};
use crate::engine::chunks::chunking::Chunking;
use crate::engine::chunks::dealer::owned;
use crate::engine::targets::graph::cached::{CachedGraph, Graphs};
use crate::engine::totals::Totals;

/// A parameter or a constant as a word; `None` unless its type is a number type, `bool` or `char`. Operators
/// and methods of any other type are the user's, and the user may have called that type `f32`.
#[inline]
pub fn word<T: Any>(value: &T) -> Option<u64> {
    let value: &dyn Any = value;
    macro_rules! words {
        ($($ty:ty),*) => {
            $(if let Some(&number) = value.downcast_ref::<$ty>() {
                return Some(bits(number));
            })*
        };
    }
    words!(f32, f64, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize, bool, char);
    None
}

fn bits<T: bytemuck::NoUninit>(value: T) -> u64 {
    const { assert!(size_of::<T>() <= size_of::<u64>(), "a parameter is a number") };
    let mut word = [0; size_of::<u64>()];
    word[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    u64::from_ne_bytes(word)
}

/// A word if the program's `blocks` is [`blocks`]; `None` if the name is the user's. If that function is
/// generic, the call determines its types.
#[inline]
pub fn is_blocks<F: Any, R>(_: &F, _called: impl FnOnce(&F, Chunk) -> R) -> Option<u64> {
    // Each function has a type of its own.
    (TypeId::of::<F>() == blocks.type_id()).then_some(0)
}

/// The inputs that determine what a device does in a run.
pub(crate) struct RunKey<'g> {
    arguments: &'g Arguments<'g>,
    chunking: Chunking,
    /// The chunks that the device has.
    chunks: Range<usize>,
}

/// An argument, or the part of it that the device has.
#[derive(Debug, PartialEq, Eq)]
struct Argument {
    ptr: DevicePtr,
    len: usize,
    /// Whether the run may write it.
    writable: bool,
    /// The bytes of what is used in place, and those of the argument before them.
    part: (usize, usize),
}

impl<'g> RunKey<'g> {
    /// The inputs of a run on the device with this number, which has its own part of `arguments`; `None` if the
    /// chunks that it will have do not follow from them.
    pub(crate) fn new(
        arguments: &'g Arguments<'g>,
        chunking: Chunking,
        (number, devices): (usize, usize),
    ) -> Option<Self> {
        let chunks = match &arguments.borders {
            Some((borders, _)) => owned(chunking, borders, number),
            None if devices == 1 => 0..chunking.chunks(),
            None => return None,
        };
        Some(Self { arguments, chunking, chunks })
    }

    fn arguments(&self) -> impl Iterator<Item = Argument> {
        let host = |HostArgument { source, .. }: &HostArgument<'_>| {
            let (ptr, len) = match &source.memory {
                HostMemory::Pinned(range) => (range.device_ptr(), source.len),
                // The run before had no such argument.
                HostMemory::Pageable(_) | HostMemory::Streamed => (DevicePtr(0), usize::MAX),
            };
            Argument { ptr, len, writable: source.writable, part: (0, 0) }
        };
        let in_place = |data: &InPlace| {
            let &InPlace { len, writable, first, .. } = data;
            Argument { ptr: data.ptr(), len, writable, part: (data.bytes(), first) }
        };
        self.arguments.hosts.iter().map(host).chain(self.arguments.in_place.iter().map(in_place))
    }
}

/// The inputs of the run before, and its outcome.
#[derive(Debug)]
pub(crate) struct Done {
    words: Vec<u64>,
    chunking: Chunking,
    chunks: Range<usize>,
    arguments: Vec<Argument>,
    totals: Totals,
    /// The number of graphs launched on the first lane.
    graphs: usize,
}

impl Done {
    /// Shapes follow from the parameters. Each run has as many arguments as the plan.
    fn is(&self, key: &RunKey<'_>) -> bool {
        self.words == key.arguments.words
            && (self.chunking, &self.chunks) == (key.chunking, &key.chunks)
            && self.arguments.iter().zip(key.arguments()).all(|(done, given)| *done == given)
    }
}

impl Graphs {
    /// Notes the inputs of a run that has just ended without failure.
    pub(crate) fn has_done(&mut self, key: &RunKey<'_>, totals: &Totals) {
        self.done = Some(Done {
            words: key.arguments.words.clone(),
            chunking: key.chunking,
            chunks: key.chunks.clone(),
            arguments: key.arguments().collect(),
            totals: totals.clone(),
            graphs: self.launched,
        });
    }

    /// Whether the graphs of the run before do what a run with these inputs has to do.
    pub(crate) fn may_repeat(&mut self, device: &Device, key: &RunKey<'_>) -> bool {
        let Some(done) = self.done.as_ref().filter(|done| done.is(key)) else { return false };
        let kept = self.lanes.first_mut().and_then(|lane| lane.kept.get_mut(..done.graphs));
        kept.is_some_and(|kept| {
            kept.iter_mut().all(|kept| kept.as_mut().is_some_and(|kept| kept.is_fresh(device)))
        })
    }

    /// Launches the graphs of the run before, if its inputs were the same, and returns the totals of what was
    /// launched. `goes_on` says before each graph whether it is launched: it is told the chunk of the graph's last
    /// command, or nothing about the last graph, which has all chunks that are left.
    ///
    /// # Safety
    /// These are the inputs of a run that [may repeat](Self::may_repeat) the one before, and has held its arguments and
    /// the ring since it was asked; the rest are those of
    /// [`Recorder::launch`](crate::engine::targets::graph::recorder::Recorder::launch).
    pub(crate) unsafe fn repeat(
        &mut self,
        device: &Device,
        plan: &Plan,
        key: &RunKey<'_>,
        mut goes_on: impl FnMut(Option<u64>) -> bool,
    ) -> Option<(DriverResult<()>, Totals)> {
        let done = self.done.as_ref().filter(|done| done.is(key))?;
        let lane = self.lanes.first_mut()?;
        let kept = lane.kept.get_mut(..done.graphs)?;
        let totals = done.totals.clone();
        for position in 0..kept.len() {
            let is_last = position + 1 == kept.len();
            let Some(CachedGraph { graph, nodes, .. }) = kept[position].as_deref() else { continue };
            let last = nodes.nodes().last().filter(|_| !is_last).map(|node| node.tag.chunk);
            if !goes_on(last) {
                return Some((Ok(()), downloads(plan, &kept[..position])));
            }
            // SAFETY: the graph does what it did the last time, which is what this run has to do: it has the
            // addresses of this run's arguments, and of the ring, of which nothing was freed since. The rest
            // is the caller's promise.
            let launched = unsafe {
                let launch = Command::Graph { graph: &graph.raw, nodes, bodies: Vec::new() };
                device.driver().enqueue(launch, lane.stream.raw, NO_OPERATION)
            };
            if let Err(error) = launched {
                self.retired.extend(kept[position].take().map(|kept| (0, kept.graph)));
                self.done = None;
                return Some((Err(error), downloads(plan, &kept[..position])));
            }
        }
        Some((Ok(()), totals))
    }
}

/// The totals of the copies to the host in these graphs.
fn downloads(plan: &Plan, graphs: &[Option<Box<CachedGraph>>]) -> Totals {
    let tags = graphs.iter().flatten().flat_map(|kept| kept.nodes.tags());
    let is_download = |&operation: &usize| {
        let known = plan.operations.get(operation);
        known.is_some_and(|known| matches!(known.kind, OperationKind::Download { .. }))
    };
    let mut totals = Totals::default();
    let operations = tags.map(|tag| tag.operation as usize).filter(is_download);
    operations.for_each(|operation| totals.downloaded(operation));
    totals
}
