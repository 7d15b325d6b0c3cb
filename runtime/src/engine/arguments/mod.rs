//! What the call of a run is given: host memory, device memory, sources and sinks.

mod device_source;
pub(crate) mod handles;
mod host;
pub(crate) mod in_place;
pub(crate) mod shape;
pub(crate) mod shared;
pub(crate) mod written;

use in_place::InPlace;
use shape::{BufferShape, Shape};
use shared::Shared;

pub(crate) use device_source::DeviceSource;
pub use device_source::{DeviceInOut, DeviceInput, DeviceOutput};
pub(crate) use host::{HostMemory, HostSource};
pub use host::{
    InOut, Input, MappedInOut, MappedInput, MappedOutput, Output, PinnedInOut, PinnedInput, PinnedOutput,
};

/// The arguments of one run, checked. Nothing changes them once the run begins.
pub(crate) struct Arguments<'a> {
    /// In the order of the plan's hosts.
    pub(crate) hosts: Vec<HostArgument<'a>>,
    /// In the order of the plan's buffers.
    pub(crate) buffers: Vec<BufferShape>,
    /// Those that are used where they are.
    pub(crate) in_place: Vec<InPlace>,
    /// Those that the whole run shares.
    pub(crate) shared: Vec<Shared<'a>>,
    /// The parameters.
    pub(crate) words: Vec<u64>,
    /// How many items there are, and the argument that said so first.
    pub(crate) items: Option<(usize, &'static str)>,
    /// Whether there is a source or a sink.
    pub(crate) has_feeds: bool,
    /// Whether one has elements for each chunk.
    pub(crate) any_per_chunk: bool,
    /// Whether the run follows from the parameters and the arguments.
    pub(crate) repeats: bool,
}

/// One host argument.
pub(crate) struct HostArgument<'a> {
    pub(crate) source: HostSource<'a>,
    pub(crate) shape: Shape,
}

/// The vectors of the last run's arguments, which the next run's need not allocate.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    pub(crate) buffers: Vec<BufferShape>,
    in_place: Vec<InPlace>,
    words: Vec<u64>,
}

impl Arguments<'_> {
    /// None yet, of so many hosts.
    pub(crate) fn new(arena: Arena, hosts: usize) -> Self {
        let Arena { buffers, in_place, words } = arena;
        Self {
            hosts: Vec::with_capacity(hosts),
            buffers,
            in_place,
            shared: Vec::new(),
            words,
            items: None,
            has_feeds: false,
            any_per_chunk: false,
            repeats: false,
        }
    }

    /// The arguments are given back to the caller, and their vectors kept.
    pub(crate) fn into_arena(self) -> Arena {
        let Self { mut buffers, mut in_place, mut words, .. } = self;
        buffers.clear();
        in_place.clear();
        words.clear();
        Arena { buffers, in_place, words }
    }

    /// Leaves all memory that the device reaches to it, for good.
    pub(crate) fn poison(&self) {
        let hosts = self.hosts.iter().map(|host| &host.source);
        for source in hosts.chain(self.shared.iter().filter_map(Shared::source)) {
            if let HostMemory::Pinned(range) = &source.memory {
                range.core().poison();
            }
        }
        self.in_place.iter().for_each(InPlace::poison);
    }
}
